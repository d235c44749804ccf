"""Back ends beside the compiler, which runs without them: each is a file or two, which can be deleted.

    c           the program as loops in C, compiled by the system's C compiler (`libraries` compiles and caches them)
    javascript  the same loops as a module of JavaScript (with `module.js`); it is asked by `save`, and runs nothing
    jax         JAX on programs of arrays: CPU, GPU, TPU
    onnx        the content of an .onnx file; it is asked by `save`, and runs nothing

`loops` writes a program as loops, for C and JavaScript, in the words of `wording`. A back end imports the public form
of programs, `micrograd.compiler.lowered`, and nothing else of the package. `micrograd.compiler.backends` says what a
back end has, and finds these.
"""
