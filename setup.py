"""The compiled modules of jelly and how they are built; everything else stands in pyproject.toml.

Switches by environment variables, for builds that are not shipped:

    JELLY_QUICK=1      little optimisation, and none of modules whose speed make demo does not show: less than half of
                       the time of the C compiler
    JELLY_DEBUG=1      no optimisation, debug information, C asserts on
    JELLY_TRACE=1      line tracing, for coverage of the .pyx and .pxd files
    JELLY_SANITIZE=1   AddressSanitizer and UndefinedBehaviorSanitizer (gcc or clang)
    JELLY_SANITIZE=threads   ThreadSanitizer

A build with a switch always compiles everything. `make clean` goes back to a release build.

CC="ccache cc" lets a build use what another build, also of another clone, has compiled.
"""

import ast
import gc
import gzip
import inspect
import json
import os
import re
import sys
import tarfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from functools import cache, partial
from glob import glob
from itertools import chain
from multiprocessing import get_context

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

QUICK, DEBUG, TRACE, SANITIZE = (
    bool(os.environ.get(f"JELLY_{name}")) for name in ("QUICK", "DEBUG", "TRACE", "SANITIZE")
)
THREADS = os.environ.get("JELLY_SANITIZE") == "threads"
WINDOWS = sys.platform == "win32"
if SANITIZE and WINDOWS:
    raise SystemExit("JELLY_SANITIZE needs gcc or clang")

directives = {
    "language_level": 3,
    "binding": True,
    "boundscheck": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": False,  # the stubs tell the types, docstrings stay as written
    "freethreading_compatible": True,  # see docs/threads.md
    "auto_pickle": False,  # Cython would write two methods for each class, which say that it cannot be pickled
}
# Strings of modules as they are: the archive of a wheel makes them smaller than Cython does.
macros, undefine, link = [("CYTHON_COMPRESS_STRINGS", "0")], [], []

if WINDOWS:
    compile_args = ["/Od", "/Z7"] if DEBUG else ["/O2"]
    link += ["/DEBUG"] if DEBUG else []
else:
    # Cython leaves helpers behind that a module does not use.
    compile_args = ["-Wall", "-Wno-unused-function", "-fvisibility=hidden"]
    # A report of the sanitizers has the names and lines of its stacks: -g1.
    compile_args += ["-O0", "-g"] if DEBUG else ["-O1", "-g1"] if SANITIZE else ["-O1" if QUICK else "-O3", "-g0"]
if DEBUG:
    undefine += ["NDEBUG"]
if TRACE:
    directives["linetrace"] = True
    # Coverage sees nothing through sys.monitoring, so 3.12 and later need the older way.
    macros += [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]
if SANITIZE:
    sanitizers = "-fsanitize=thread" if THREADS else "-fsanitize=address,undefined"
    compile_args += [sanitizers, "-fno-omit-frame-pointer"]
    link += [sanitizers]
if THREADS:
    macros += [("JELLY_SANITIZE_THREADS", "1")]  # atomic instructions also with the GIL


kinds = (("quick", QUICK), ("debug", DEBUG), ("trace", TRACE), ("sanitize", SANITIZE), ("threads", THREADS))
switches = [name for name, on in kinds if on]
# A directory for each kind of build, so that a wheel never picks up a module of another kind.
BUILD_BASE = "build/" + ("-".join(switches) or "release")


# The modules that do what `make demo` times: text to Jelly, Jelly to text, and Jelly to terms.
SHOWN = {
    "base": ("batch", "characters", "cython_shared", "memory", "pieces", "protobuf", "utf8"),
    "jelly": ("decode", "decoder", "encode", "encoder", "frame_reader", "frame_writer", "lookup", "term_out"),
    "ntriples": ("line_reader", "statement_table", "term_reader", "term_writer", "text"),
    "rules": ("blank_node_label", "iri", "language_tag", "term_rules"),
    "terms": ("materialize", "model", "statements"),
}


def flags(path):
    """The arguments of the C compiler for a source."""
    package, name = os.path.splitext(path)[0].split("/")[2:]
    return [*compile_args, "-O0"] if QUICK and not WINDOWS and name not in SHOWN.get(package, ()) else compile_args


def extension(name, paths):
    """A library, and the sources of the modules in it."""
    return Extension(
        name,
        paths,
        define_macros=macros,
        undef_macros=undefine,
        extra_compile_args=flags(paths[0]),
        extra_link_args=link,
        export_symbols=["PyInit_" + os.path.basename(path).partition(".")[0] for path in paths],
    )


def module(path):
    """The name of a module."""
    return os.path.splitext(path)[0].replace("/", ".")


def c_file(path):
    """What Cython makes of a source."""
    return os.path.splitext(path)[0] + ".c"


# What Cython puts into modules for functions, errors and arguments, once for all of them. Cython makes its C.
SHARED = "jelly/_core/base/cython_shared.c"
UNUSED = ["AutoPickle", "MemoryView"]  # parts of it that no module has


def libraries():
    """One library for all modules of a package, which jelly._core finds there: a fifth less to download than one for
    each module."""
    found = {}
    for path in sorted(glob("jelly/_core/*/*.pyx")):
        path = path.replace(os.sep, "/")
        found.setdefault(os.path.dirname(path), []).append(path)
    return [
        extension(module(SHARED), [SHARED]),
        *(extension(module(f"{folder}/compiled"), paths) for folder, paths in found.items()),
    ]


CIMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(jelly[\w.]*)[ \t]+cimport[ \t]+([^#\n]*)|cimport[ \t]+(jelly[\w.]*))", re.M)


@cache
def cimported(path):
    """The .pxd files that a source cimports itself, and its own."""
    with open(path, encoding="utf-8") as file:
        found = [
            name
            for package, names, module in CIMPORT.findall(file.read())
            for name in (module or package, *(f"{package}.{each}" for each in re.findall(r"\w+", names)))
        ]
    files = [os.path.splitext(path)[0] + ".pxd", *(name.replace(".", "/") + ".pxd" for name in found)]
    return [file for file in files if os.path.exists(file)]


def read_for(path):
    """All files that Cython reads for a module: its source, and each .pxd that it needs at any distance."""
    found, new = set(), {path}
    while new:
        found |= new
        new = {file for one in new for file in cimported(one)} - found
    return found


def current(path):
    """Whether the C of a module is newer than all it is made from, and than the directives in this file."""
    from Cython.Utils import file_generated_by_this_cython

    made = c_file(path)
    files = ["setup.py"] if path == SHARED else ["setup.py", *read_for(path)]
    return file_generated_by_this_cython(made) and os.path.getmtime(made) >= max(map(os.path.getmtime, files))


def sign_classes():
    """Make Cython begin the docstring of each class with its signature, for `inspect.signature` and `help`.

    Cython only does so for functions; Python takes the line away again from ``__doc__``.
    """
    from Cython.Compiler import AutoDocTransforms
    from Cython.Compiler.StringEncoding import EncodedString

    class Signed(AutoDocTransforms.EmbedSignature):
        def visit_DefNode(self, node):
            if node.name in ("__cinit__", "__init__"):
                self.constructor = node
            return super().visit_DefNode(node)

        def visit_CClassDefNode(self, node):
            self._setup_format()
            self.constructor = None
            self.visit_ClassDefNode(node)
            scope = node.entry.type.scope
            # Without a constructor it has that of its base.
            if scope.doc is not None and (self.constructor or not node.entry.type.base_type):
                arguments = self.arguments(self.constructor) if self.constructor else ""
                text = inspect.cleandoc(scope.doc)
                scope.doc = EncodedString(f"{node.class_name}({arguments})\n--\n\n{text}")
            return node

        def arguments(self, function):
            star, stars = function.star_arg, function.starstar_arg
            n_named = function.num_kwonly_args
            n = len(function.args) - n_named - 1
            return ", ".join(self._fmt_arglist(function.args[1:], 0, n, star, n_named, stars))

        def _fmt_arg(self, arg):
            if arg.default is None:
                return arg.name
            text = self._fmt_expr(arg.default)
            try:
                return f"{arg.name}={eval(text, {})!r}"
            except NameError:  # a constant of C
                return f"{arg.name}=..."

    AutoDocTransforms.EmbedSignature = Signed


def make_c(paths):
    """Make the C of sources, and yield each source whose C is there."""
    if not paths:
        return
    from Cython.Build.Dependencies import CompilationOptions, cythonize, cythonize_one

    sign_classes()
    gc.set_threshold(100_000)  # else it takes nearly half of the time of Cython, which keeps what it makes
    settings = {
        "compiler_directives": directives,
        "shared_utility_qualified_name": module(SHARED),
        "shared_utility_features_disabled": UNUSED,
    }
    options = CompilationOptions(include_path=["."], **settings)
    # The longest first, so that no core is idle at the end. `cythonize` would look for dependencies for seconds before.
    jobs = {
        path: (cythonize_one, path, c_file(path), None, True, options, True, None, module(path))
        for path in sorted(paths, key=lambda path: -os.path.getsize(path) if path != SHARED else 0)
    }
    if SHARED in jobs:
        jobs[SHARED] = (partial(cythonize, force=True, quiet=True, **settings), [extension(module(SHARED), [SHARED])])
    if sys.platform == "linux":
        with ProcessPoolExecutor(os.cpu_count(), get_context("fork")) as pool:
            made = {pool.submit(*job): path for path, job in jobs.items()}
            for each in as_completed(made):
                each.result()
                yield made[each]
    else:  # there each process would run this file again
        for path, job in jobs.items():
            job[0](*job[1:])
            yield path


class Build(build_ext):
    """Cython and then C, on all cores, for the modules that a change affects."""

    def finalize_options(self):
        super().finalize_options()
        if self.editable_mode:
            # setuptools compiles everything anew for an editable install, in a directory that it deletes.
            usual = build(self.distribution)
            usual.build_base = BUILD_BASE
            usual.ensure_finalized()
            self.build_lib, self.build_temp = usual.build_lib, usual.build_temp

    def build_extensions(self):
        paths = [path for library in self.extensions for path in library.sources]
        # For the sanitizers Cython would make what it makes for a release.
        old = [path for path in paths if self.force and (TRACE or not SANITIZE) or not current(path)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = [pool.submit(self.compile, c_file(path)) for path in chain(make_c(old), set(paths) - set(old))]
        for each in made:
            each.result()
        for library in self.extensions:
            library.extra_objects = library.depends = [self.object(c_file(path)) for path in library.sources]
            library.sources = []
        super().build_extensions()

    def object(self, path):
        return self.compiler.object_filenames([path], output_dir=self.build_temp)[0]

    def compile(self, path):
        """Compile a C file that is newer than its object file; setuptools compiles all of a library or nothing."""
        made = self.object(path)
        needs = max(os.path.getmtime(path), os.path.getmtime("setup.py"))
        if self.force or not os.path.exists(made) or os.path.getmtime(made) < needs:
            given = [*macros, *((name,) for name in undefine)]
            self.compiler.compile([path], output_dir=self.build_temp, macros=given, extra_postargs=flags(path))

    def get_export_symbols(self, ext):
        return ext.export_symbols  # setuptools adds a function of the library's own name


class Source(sdist):
    """The same files make the same archive, whenever and by whomever it is made."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, **owner):
        made = os.path.abspath(f"{base_name}.tar.gz")
        when = int(os.environ.get("SOURCE_DATE_EPOCH", 315532800))  # 1980, as in the zip format

        def plain(info):
            info.mtime, info.uid, info.gid, info.uname, info.gname = when, 0, 0, "", ""
            info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
            return info

        with (
            open(made, "wb") as file,
            gzip.GzipFile("", "wb", 9, file, mtime=when) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=plain)  # in the order of the names
        return made


# The head of a class or function in a Cython source, and its docstring.
PARAMETERS = r"(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?"
DOCUMENTED = re.compile(
    rf'^( {{4}})?(?:(?:cdef )?(class)|def|cpdef [\w ]+?) (\w+){PARAMETERS}[^:\n]*:[^\n]*\n\s*(r?""".*?""")', re.M | re.S
)


def docstrings(source):
    """The docstrings in a Cython source by "" for the module, the name of a class or function, or "Class.method"."""
    found, owner = {"": source[: source.index('"""', 4) + 3]}, ""
    for indent, kind, name, text in DOCUMENTED.findall(source):
        owner = owner if indent else f"{name}." if kind else ""
        found.setdefault(owner + name if indent else name, text)
    return {name: inspect.cleandoc(ast.literal_eval(text)) for name, text in found.items()}


def documented(stub, source):
    """A stub with the docstrings of its Cython source. In the tree stubs have none, so that each is there once."""
    texts, lines = docstrings(source), stub.splitlines()
    places = [(node, node.name) for node in ast.parse(stub).body if hasattr(node, "body")]
    places += [
        (node, f"{owner.name}.{node.name}") for owner, _ in places for node in owner.body if hasattr(node, "body")
    ]
    for node, name in sorted(places, key=lambda place: -place[0].lineno):
        if name not in texts or node.name.startswith("__"):
            continue
        first = node.body[0]
        text = quoted(texts[name], " " * (node.col_offset + 4))
        if isinstance(first, ast.Expr):  # ...
            lines[first.lineno - 1 : first.lineno] = [lines[first.lineno - 1][: first.col_offset].rstrip(), *text]
        else:
            at = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))]) - 1
            lines[at:at] = text
    return "\n".join([*quoted(texts[""], ""), "", *lines]) + "\n"


def quoted(text, indent):
    """A docstring as lines of a source."""
    quote = 'r"""' if "\\" in text else '"""'
    first, *others = text.splitlines()
    lines = [f"{indent}{quote}{first}", *((indent + line).rstrip() for line in others)]
    return [f'{lines[0]}"""'] if not others and first[-1] != '"' else [*lines, f'{indent}"""']


# Modules beside the package, by which Spark finds its data sources without being told: it imports all modules on the
# path whose names begin with pyspark_, and registers the DefaultSource of each. By their names: the name of the data
# source, and its class.
FOUND_BY_SPARK = {
    "pyspark_jelly": ("jelly", "JellyDataSource"),
    "pyspark_jelly_patch": ("jelly-patch", "PatchDataSource"),
    "pyspark_jelly_results": ("jelly-results", "ResultDataSource"),
}
# If one cannot be imported, Spark finds none at all: so it imports nothing but what Spark has.
SOURCE_MODULE = '''"""By this module Spark finds the data source "{name}" of the package jelly."""

from pyspark.sql.datasource import DataSource


class DefaultSource(DataSource):
    """Makes the data source when it is used."""

    def __new__(cls, options):
        from jelly.spark._source import {kind}

        return {kind}(options)

    @classmethod
    def name(cls):
        return "{name}"
'''


class BuildPython(build_py):
    """The package with docstrings in its stubs, and the modules that Spark looks for. An editable install has only the
    package as it is."""

    def run(self):
        super().run()
        if not self.editable_mode:
            texts = self.found_by_spark()
            for path in glob("jelly/_core/*/*.pyi"):
                with open(path, encoding="utf-8") as stub, open(f"{path[:-1]}x", encoding="utf-8") as source:
                    texts[os.path.join(self.build_lib, path)] = documented(stub.read(), source.read())
            for path, text in texts.items():
                with open(path, "w", encoding="utf-8", newline="\n") as made:
                    made.write(text)

    def found_by_spark(self):
        return {
            os.path.join(self.build_lib, f"{module}.py"): SOURCE_MODULE.format(name=name, kind=kind)
            for module, (name, kind) in FOUND_BY_SPARK.items()
        }

    def get_outputs(self, include_bytecode=1):
        return [*super().get_outputs(include_bytecode), *([] if self.editable_mode else self.found_by_spark())]


def sbom(distribution):
    """A bill of materials (CycloneDX 1.6) of a wheel: the package, what it needs, and the extras. No library is
    vendored; compiled modules hold helpers that Cython generates."""
    import Cython

    name, version = distribution.get_name(), distribution.get_version()
    purl = f"pkg:pypi/{name}@{version}"

    def needed(requirement, scope):
        needed_name = re.match(r"[\w.-]+", requirement)[0]
        return {
            "type": "library",
            "bom-ref": f"pkg:pypi/{needed_name.lower()}",
            "name": needed_name,
            "purl": f"pkg:pypi/{needed_name.lower()}",
            "scope": scope,
            "properties": [{"name": "jelly-rdf:requirement", "value": requirement}],
        }

    extras = {one for some in distribution.extras_require.values() for one in some}
    found = [needed(one, "required") for one in sorted(distribution.install_requires)]
    for one in sorted(extras):
        made = needed(one, "optional")
        # A package of several extras once, with each of its requirements.
        there = [each for each in found if each["name"] == made["name"]]
        if there and made["properties"][0] not in there[0]["properties"]:
            there[0]["properties"] += made["properties"]
        elif not there and made["name"] != name:
            found.append(made)
    cython = f"pkg:pypi/cython@{Cython.__version__}"
    found.append({
        "type": "library", "bom-ref": cython, "name": "Cython", "version": Cython.__version__, "purl": cython,
        "description": "Generated helpers in the compiled modules", "licenses": [{"license": {"id": "Apache-2.0"}}],
        "scope": "required",
    })  # fmt: skip
    needs = [one["bom-ref"] for one in found if one["scope"] == "required"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
                "description": distribution.get_description(), "licenses": [{"license": {"id": "Apache-2.0"}}],
                "externalReferences": [
                    {"type": kind, "url": distribution.metadata.project_urls[title]}
                    for kind, title in (("website", "Homepage"), ("vcs", "Source"), ("issue-tracker", "Issues"))
                ],
            },
        },
        "components": found,
        "dependencies": [{"ref": purl, "dependsOn": needs}],
    }  # fmt: skip


class Wheel(bdist_wheel):
    """A wheel with its bill of materials in ``dist-info/sboms`` (PEP 770)."""

    def egg2dist(self, egginfo_path, distinfo_path):
        super().egg2dist(egginfo_path, distinfo_path)
        folder = os.path.join(distinfo_path, "sboms")
        os.mkdir(folder)
        with open(os.path.join(folder, "jelly-rdf.cdx.json"), "w", encoding="utf-8", newline="\n") as file:
            json.dump(sbom(self.distribution), file, indent=1)


setup(
    ext_modules=libraries(),
    cmdclass={"build_ext": Build, "build_py": BuildPython, "bdist_wheel": Wheel, "sdist": Source},
    options={"build": {"build_base": BUILD_BASE, "force": bool(switches)}},
)
