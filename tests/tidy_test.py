"""The rules of the tree, checked: who may include whom, which file opens which library, names, sizes, the top level.

Each rule is a function from a tree, {path: text}, to findings, "path:line: what is wrong". It is run on the project,
where it must find nothing, and on a small tree that breaks it, where it must find what is written there.
"""

import ast
import fnmatch
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder -> what it may include of ours, as patterns; a folder that is not here may include anything.
MAY_INCLUDE = {
    "decode": ["decode/*"],
    "augment": ["augment/*", "decode/image.h"],
    "transfer": ["transfer/*"],
    "loader": ["loader/*", "decode/*", "augment/*", "transfer/*"],
    "python": ["python/*", "loader/*", "transfer/device.h", "augment/recipe.h", "augment/plan.h", "augment/spec.h"],
}
FOLDERS = ["loader", "decode", "augment", "transfer", "python", "bench", "tests"]

# The doors: third-party headers -> the files that may include them. bench/ and tests/ may open any. A header of ours
# that includes one stands beside it: it opens the same door.
DOORS = [
    (["liburing.h", "liburing/*"], ["loader/uring_chains.cc"]),
    (["tbb/*", "oneapi/tbb*"], ["loader/workers.cc"]),
    (["jpeglib.h", "jerror.h", "turbojpeg.h", "decode/jpeg_session.h"], ["decode/jpeg_*"]),
    (["png.h", "pngconf.h"], ["decode/png_decoder.cc"]),
    (["webp/*"], ["decode/webp_decoder.cc"]),
    (["opencv2/*"], ["decode/opencv_decoder.cc", "augment/opencv_ops.cc"]),
    (["xxhash.h"], ["decode/jpeg/marks.cc", "loader/index/*"]),
    (["cuda.h", "cuda_*", "cudaTypedefs.h", "nvml.h", "nvjpeg.h"], ["transfer/cuda_*"]),
    (["nvtx3/*"], ["transfer/nvtx.cc"]),
    (["hwy/*"], ["*_kernels.cc"]),
    (["pybind11/*", "Python.h", "dlpack/*"], ["python/*"]),
    (["fmt/*"], ["loader/*"]),
    (["nlohmann/*", "loader/report_json.h"], ["loader/*json*"]),
    (["CLI/*", "benchmark/*", "curses.h", "gtest/*", "gmock/*"], []),
]

TOP_LEVEL = [
    *FOLDERS, "CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "dev", "pyproject.toml", ".*"
]
SHAPELESS_NAMES = ["util", "utils", "common", "core", "misc", "helper", "helpers"]
MAX_FILE_LINES = 330
MAX_FUNCTION_LINES = 70

# Tests of more than one source file; every other tests/FOLDER/x_test.cc is about FOLDER/x.
WHOLE_TESTS = [
    "tests/augment/allocation_test.cc",
    "tests/augment/resample_test.cc",
    "tests/bench/validate/auto_workers_test.cc",
    "tests/fake_cuda/fake_driver_test.cc",
    "tests/loader/allocation_test.cc",
    "tests/loader/copy_stall_test.cc",
    "tests/loader/elasticity_test.cc",
    "tests/loader/fault_test.cc",
    "tests/loader/life_test.cc",
    "tests/loader/nvtx_ranges_test.cc",
    "tests/loader/pipeline_test.cc",
    "tests/loader/planned_source_test.cc",
    "tests/loader/virtual_time_test.cc",
    "tests/transfer/mutants_test.cc",
    "tests/transfer/cuda_fault_test.cc",
]


def in_folder(path, *folders):
    return path.split("/")[0] in folders


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def is_cpp(path):
    return path.endswith((".h", ".cc", ".cu"))


def includes(text):
    """(line number, header) of each #include."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found.group(1), found.group(2)


def include_rule(tree):
    for path, text in tree.items():
        if not is_cpp(path):
            continue
        allowed = MAY_INCLUDE.get(path.split("/")[0], ["*"])
        for number, quote, header in includes(text):
            if in_folder(header, *FOLDERS):
                if not matches(header, allowed):
                    yield f"{path}:{number}: may not include {header}, only {', '.join(allowed)}"
            elif quote == '"' and not any(matches(header, headers) for headers, _ in DOORS):
                yield f"{path}:{number}: {header} is not written from the root of the project"


def door_rule(tree):
    for path, text in tree.items():
        if not is_cpp(path) or in_folder(path, "bench", "tests"):
            continue
        for number, _, header in includes(text):
            for headers, doors in DOORS:
                if matches(header, headers) and not matches(path, doors):
                    yield f"{path}:{number}: <{header}> belongs in {', '.join(doors) or 'bench/ and tests/'} only"


def name_rule(tree):
    for path in tree:
        for part in path.split("/"):
            if part.split(".")[0].lower() in SHAPELESS_NAMES:
                yield f"{path}:1: '{part}' says nothing: a thing lives under its name in the lowest folder that uses it"


def top_level_rule(tree):
    for path in tree:
        if not matches(path.split("/")[0], TOP_LEVEL):
            yield f"{path}:1: the top level holds {', '.join(TOP_LEVEL)} and nothing else"


def file_length_rule(tree):
    for path, text in tree.items():
        lines = text.count("\n")
        code = is_cpp(path) or path.endswith((".py", ".cmake", "CMakeLists.txt")) or path == "dev"
        if code and lines > MAX_FILE_LINES:
            yield f"{path}:{lines}: {lines} lines, at most {MAX_FILE_LINES}: two ideas are two files"


def blank_out(text):
    """C++ without comments, literals and preprocessor lines; every line keeps its number."""
    pattern = (r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\''
               r'|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*')
    return re.sub(pattern, lambda found: "\n" * found.group().count("\n"), text, flags=re.S | re.M)


def cpp_functions(text):
    """(first line, last line) of each function body at namespace or class level. Reads braces, not C++."""
    stack = []  # for each open brace: the line its function starts on, or None
    head, line, last_function = "", 1, None
    for character in blank_out(text):
        if character == "{":
            declaration = re.sub(r"^\s*(template\s*<[^{}]*?>\s*)*", "", head)
            scope = re.match(r"(inline\s+)?(namespace|class|struct|union|enum)\b", declaration)
            if any(start is not None for start in stack):
                stack.append(None)
            elif re.match(r"\s*(,|$)", head) and last_function:  # the body behind `: member_{value}`
                stack.append(last_function)
            elif ")" in head and not scope:
                stack.append(line - head.strip().count("\n"))
            else:
                stack.append(None)
            head = ""
        elif character == "}":
            last_function = stack.pop() if stack else None
            if last_function is not None:
                yield last_function, line
            head = ""
        elif character == ";":
            head, last_function = "", None
        else:
            head += character
        line += character == "\n"


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def function_length_rule(tree):
    for path, text in tree.items():
        functions = cpp_functions(text) if is_cpp(path) else python_functions(text) if path.endswith(".py") else ()
        for first, last in functions:
            if last - first + 1 > MAX_FUNCTION_LINES:
                yield f"{path}:{first}: a function of {last - first + 1} lines, at most {MAX_FUNCTION_LINES}"


def mirror_rule(tree):
    for path in tree:
        found = re.fullmatch(r"tests/(?:([\w/]+)/)?(\w+)_test\.(cc|cu)", path)
        if not found or path in WHOLE_TESTS:
            continue
        source = f"{found.group(1)}/{found.group(2)}"
        if not any(source + ending in tree for ending in (".h", ".cc", ".cu")):
            yield f"{path}:1: there is no {source}.h or .cc that it could be the test of"


def machine_path_rule(tree):
    for path, text in tree.items():
        if in_folder(path, "tests"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found = re.search(r"(?<![\w.~})])/(home|work|root|tmp|Users)/", line)
            if found:
                yield f"{path}:{number}: {found.group()} is a path of one machine"


def leftover_rule(tree):
    for path, text in tree.items():
        if path == "tests/tidy_test.py":
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found = re.search(r"\b(TODO|FIXME|XXX)\b", line)
            if found:
                yield f"{path}:{number}: {found.group()}: do it, or leave it out"


def read_tree():
    """Every text file that git would keep, by its path from the root."""
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().split()]
    tree, folders = {}, [ROOT]
    while folders:
        for entry in sorted(folders.pop().iterdir()):
            if entry.name == ".git" or matches(entry.name, ignored) or entry.is_symlink():
                continue
            if entry.is_dir():
                folders.append(entry)
            else:
                tree[str(entry.relative_to(ROOT))] = entry.read_text(encoding="utf-8", errors="replace")
    return tree


# Rule -> (a tree that breaks it, what it must say), (a tree that looks like it but keeps it).
LONG_BODY = "  Work();\n" * MAX_FUNCTION_LINES
SELF_TESTS = {
    include_rule: [
        ({"decode/a.cc": '#include "decode/b.h"\n#include "loader/c.h"\n'},
         "decode/a.cc:2: may not include loader/c.h"),
        ({"augment/a.cc": '#include "decode/decoder.h"\n'}, "augment/a.cc:1: may not include decode/decoder.h"),
        ({"transfer/a.h": '#  include <augment/spec.h>\n'}, "transfer/a.h:1: may not include augment/spec.h"),
        ({"loader/a.h": '#include "python/a.h"\n'}, "loader/a.h:1: may not include python/a.h"),
        ({"loader/a.h": '#include "b.h"\n'}, "loader/a.h:1: b.h is not written from the root"),
        ({"augment/a.cc": '#include <span>\n#include "decode/image.h"\n#include "hwy/highway.h"\n',
          "tests/a.cc": '#include "loader/a.h"\n', "README.md": '#include "b.h"\n'}, None),
    ],
    door_rule: [
        ({"loader/a.cc": "\n#include <liburing.h>\n"}, "loader/a.cc:2: <liburing.h> belongs in loader/uring_chains.cc"),
        ({"loader/a.h": "#include <oneapi/tbb/task_arena.h>\n"}, "loader/a.h:1: <oneapi/tbb/task_arena.h> belongs in"),
        ({"transfer/a.cc": "#include <cuda_runtime_api.h>\n"}, "transfer/a.cc:1: <cuda_runtime_api.h> belongs in"),
        ({"loader/a.cc": "#include <CLI/CLI.hpp>\n"}, "loader/a.cc:1: <CLI/CLI.hpp> belongs in bench/ and tests/ only"),
        ({"decode/a.cc": '#include "decode/jpeg_session.h"\n'},
         "decode/a.cc:1: <decode/jpeg_session.h> belongs in decode/jpeg_*"),
        ({"decode/jpeg_rows.cc": "#include <jpeglib.h>\n", "augment/x_kernels.cc": '#include "hwy/highway.h"\n',
          "bench/a.cc": "#include <tbb/info.h>\n"}, None),
    ],
    name_rule: [
        ({"loader/util/queue.h": ""}, "loader/util/queue.h:1: 'util' says nothing"),
        ({"decode/common.h": ""}, "decode/common.h:1: 'common.h' says nothing"),
        ({"decode/core_count.h": "", "loader/misc_label.cc": ""}, None),
    ],
    top_level_rule: [
        ({"src/a.cc": ""}, "src/a.cc:1: the top level holds"),
        ({"build.sh": ""}, "build.sh:1: the top level holds"),
        ({"decode/deep/a.cc": "", ".ci/run": "", "LICENSE": ""}, None),
    ],
    file_length_rule: [
        ({"decode/a.cc": "\n" * (MAX_FILE_LINES + 1)}, f"decode/a.cc:{MAX_FILE_LINES + 1}: {MAX_FILE_LINES + 1} lines"),
        ({"decode/a.cc": "\n" * MAX_FILE_LINES, "LICENSE": "\n" * 999}, None),
    ],
    function_length_rule: [
        ({"a.cc": f"namespace x {{\nint F(\n    int a) {{\n{LONG_BODY}}}\n}}\n"}, "a.cc:2: a function of 73 lines"),
        ({"a.cc": f"struct A {{\n  A(int b) : c_{{b}}, d_(')') {{\n{LONG_BODY}  }}\n}};\n"},
         "a.cc:2: a function of 72"),
        ({"a.cc": f"template <class T>\nvoid F() {{\n  if (x) {{\n{LONG_BODY}  }}\n}}\n"}, "a.cc:1: a function of 75"),
        ({"a.py": "def f():\n" + "    g()\n" * MAX_FUNCTION_LINES}, "a.py:1: a function of 71 lines"),
        ({"a.cc": "struct A {\n" + "  int F() { return 1'000; }  // it's {\n" * 99 + "};\n"}, None),
        ({"a.cc": "constexpr int kTable[] = {\n" + "  1,\n" * 99 + '};\nconst char* s = R"({\n)";\n'}, None),
    ],
    mirror_rule: [
        ({"tests/decode/a_test.cc": "", "augment/a.h": ""}, "tests/decode/a_test.cc:1: there is no decode/a.h"),
        ({"tests/loader/b/a_test.cc": "", "loader/a.h": ""}, "tests/loader/b/a_test.cc:1: there is no loader/b/a.h"),
        ({"tests/decode/a_test.cc": "", "decode/a.cc": "", "tests/decode/encode.h": "", WHOLE_TESTS[0]: ""}, None),
    ],
    machine_path_rule: [
        ({"dev": "cd\ncd /home/me\n"}, "dev:2: /home/ is a path of one machine"),
        ({"bench/a.cc": 'Open("/tmp/photos");\n'}, "bench/a.cc:1: /tmp/ is a path of one machine"),
        ({"README.md": "~/work/x, ./tmp/x, photos/home/x\n", "tests/a.cc": '"/tmp/x"\n'}, None),
    ],
    leftover_rule: [
        ({"decode/a.cc": "\n// TODO(me): later\n"}, "decode/a.cc:2: TODO"),
        ({"decode/a.cc": "// a TODOLIST\n"}, None),
    ],
}


class Tidy(unittest.TestCase):
    """One test a rule, made below: it finds what it must in the self-tests, then nothing in the project."""

    maxDiff = None

    def check(self, rule, tree):
        for example, expected in SELF_TESTS[rule]:
            found = list(rule(example))
            if expected is None:
                self.assertEqual(found, [], "the rule is too strict")
            else:
                self.assertEqual([finding[:len(expected)] for finding in found], [expected], "the rule is blind")
        findings = "\n".join(rule(tree))
        if findings:
            self.fail("\n" + findings)


TREE = read_tree()
for each in SELF_TESTS:
    setattr(Tidy, f"test_{each.__name__}", lambda self, rule=each: self.check(rule, TREE))

if __name__ == "__main__":
    unittest.main()
