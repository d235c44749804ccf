"""Back ends beside the compiler, which runs without them: each is a file or two, which can be deleted.

    c           the program as loops in C, compiled by the system's C compiler (`libraries` compiles and caches them)
    javascript  the same loops as a module of JavaScript (with `module.js`), which `save` writes and nothing here runs
    jax         JAX on programs of arrays: CPU, GPU, TPU
    onnx        the content of an .onnx file, which `save` writes and nothing here runs

`loops` writes a program as loops, in the forms that `wording` has for C and JavaScript. A back end imports the public
form of programs, `micrograd.compiler.lowered`, and nothing else of the package outside this folder.
`micrograd.compiler.backends` says what a back end needs, and finds these.
"""
