// The engine's own tests in the CPython that npm has: node .ci/pyodide.mjs FOLDER-OF-PYODIDE FOLDER-OF-PYTEST TEST...
// It has no NumPy, no threads, no processes and no asyncio.run.
import { pathToFileURL } from "node:url";

const [pyodide, packages, ...tests] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({ env: { PYTHONDONTWRITEBYTECODE: "1", HOME: "/tmp" } });
for (const [name, folder] of [["/checkout", process.cwd()], ["/packages", packages]]) {
  python.FS.mkdirTree(name);
  python.mountNodeFS(name, folder);
}
python.globals.set("tests", python.toPy(tests));
process.exitCode = await python.runPythonAsync(`
import os, sys
os.chdir("/checkout")
sys.path[:0] = ["/checkout", "/packages"]
import pytest
int(pytest.main(["-p", "no:cacheprovider", "-o", "timeout=0", "-o", "addopts=-ra", "-W", "ignore:coroutine", *tests]))
`);
