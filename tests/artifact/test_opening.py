"""Every kind of artifact opens to its sources, and to nothing else."""

from __future__ import annotations

import builtins
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import ArtifactKind, SourceRole
from kernelscope.errors import KernelscopeError
from tests.artifact.packages import KERNEL, METADATA, PREFIX, PYTHON_WRAPPER, WRAPPER, write_package

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize("package", sorted(FIXTURES.rglob("*.pt2")), ids=lambda path: path.name)
def test_every_fixture_opens_to_its_wrappers_and_cubins(package: Path) -> None:
    artifact = open_artifact(str(package))
    assert artifact.kind is ArtifactKind.PACKAGE
    assert not artifact.damaged
    for model in artifact.models:
        assert [source.role for source in model.sources].count(SourceRole.CPP_WRAPPER) >= 1
        assert not model.damaged
        magic = {"cubin": b"\x7fELF", "fatbin": b"\x50\xed\x55\xba"}
        assert all(read().startswith(magic[name.rpartition(".")[2]]) for name, read in model.binaries.items())


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_package_gives_source_metadata_and_device(tmp_path: Path, method: int) -> None:
    artifact = open_artifact(str(write_package(tmp_path / "a.pt2", method=method)))
    (model,) = artifact.models
    assert (model.name, model.device, model.metadata["AOTI_COMPUTE_CAPABILITY"]) == ("model", "cuda", "90")
    (source,) = model.sources
    assert (source.role, source.path, source.text) == (
        SourceRole.CPP_WRAPPER, f"{PREFIX}a.wrapper.cpp", WRAPPER,
    )  # fmt: skip


def test_models_and_wrappers_are_kept_apart(tmp_path: Path) -> None:
    members: dict[str, str | bytes] = {
        "n/data/aotinductor/one/a.wrapper.cpp": WRAPPER,
        "n/data/aotinductor/one/b.wrapper.cpp": WRAPPER + "//",
        "n/data/aotinductor/two/c.wrapper.cpp": WRAPPER,
        "n/data/aotinductor/two/c.cubin": b"\x7fELF",
    }
    artifact = open_artifact(str(write_package(tmp_path / "a.pt2", members)))
    assert [(model.name, len(model.sources), sorted(model.binaries)) for model in artifact.models] == [
        ("one", 2, []),
        ("two", 1, ["c.cubin"]),
    ]


def test_package_without_a_name_prefix_opens(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2", {"data/aotinductor/m/a.wrapper.cpp": WRAPPER})
    assert [model.name for model in open_artifact(str(path)).models] == ["m"]


def test_unpacked_package_opens_as_a_package(tmp_path: Path) -> None:
    with zipfile.ZipFile(write_package(tmp_path / "a.pt2")) as archive:
        archive.extractall(tmp_path / "unpacked")
    artifact = open_artifact(str(tmp_path / "unpacked"))
    assert artifact.kind is ArtifactKind.PACKAGE
    assert artifact.models[0].sources[0].text == WRAPPER
    assert artifact.models[0].device == "cuda"


def test_a_cpu_model_shows_its_loops(tmp_path: Path) -> None:
    loops = 'extern "C" void cpp_fused_add_0(const float* in_ptr0)\n{\n    for(int64_t x0=0; x0<16; x0+=1) {}\n}\n'
    members: dict[str, str | bytes] = {
        f"{PREFIX}a.wrapper.cpp": WRAPPER,
        f"{PREFIX}a.kernel.cpp": loops,
        f"{PREFIX}a.wrapper_metadata.json": METADATA.replace("cuda", "cpu"),
    }
    (model,) = open_artifact(str(write_package(tmp_path / "a.pt2", members))).models
    assert model.device == "cpu"
    assert {source.role for source in model.sources} == {SourceRole.CPP_WRAPPER, SourceRole.CPP_KERNEL}


def test_the_kernel_file_of_a_cuda_model_is_no_source(tmp_path: Path) -> None:
    members: dict[str, str | bytes] = {
        f"{PREFIX}a.wrapper.cpp": WRAPPER,
        f"{PREFIX}a.kernel.cpp": "// Compile cmd\n// g++\n",
    }
    (model,) = open_artifact(str(write_package(tmp_path / "a.pt2", members))).models
    assert [source.role for source in model.sources] == [SourceRole.CPP_WRAPPER]


def test_cache_folder_lists_each_kernel_once(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    (tmp_path / "cd").mkdir()
    (tmp_path / "ab" / "cwrapper.py").write_text(PYTHON_WRAPPER)
    (tmp_path / "cd" / "cembedded.py").write_text(f"\n{KERNEL}")
    (tmp_path / "cd" / "cloose.py").write_text(KERNEL.replace("double", "triple"))
    (tmp_path / "cd" / "graph.py").write_text("import torch\n")
    artifact = open_artifact(str(tmp_path))
    found = [(source.role, Path(source.path).name) for model in artifact.models for source in model.sources]
    assert artifact.kind is ArtifactKind.FOLDER
    assert found == [(SourceRole.PYTHON_WRAPPER, "cwrapper.py"), (SourceRole.KERNEL, "cloose.py")]


def test_real_cache_folder_lists_its_wrappers_alone() -> None:
    artifact = open_artifact(str(FIXTURES / "extra" / "cache"))
    found = [source.role for model in artifact.models for source in model.sources]
    assert found == [SourceRole.PYTHON_WRAPPER] * 3
    assert {model.device for model in artifact.models} == {"cuda"}
    assert len(list((FIXTURES / "extra" / "cache").rglob("*.py"))) > len(found)


def test_package_with_several_models_tells_the_cpu_model(tmp_path: Path) -> None:
    artifact = open_artifact(str(FIXTURES / "extra" / "twomodels.unbounded.pt2"))
    assert {model.name: model.device for model in artifact.models} == {"gpu": "cuda", "gpu2": "cuda", "cpu": "cpu"}


@pytest.mark.parametrize("wrapper", sorted((FIXTURES / "extra").glob("*.py")), ids=lambda path: path.name)
def test_every_python_wrapper_among_the_fixtures_opens(wrapper: Path) -> None:
    assert open_artifact(str(wrapper)).kind is ArtifactKind.PYTHON_WRAPPER


def test_debug_folder_lists_its_wrapper_and_not_the_graph_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "torch_compile_debug" / "run_1" / "torchinductor" / "model__0_inference_0.0"
    folder.mkdir(parents=True)
    (folder / "output_code.py").write_text(PYTHON_WRAPPER)
    (folder / "fx_graph_runnable.py").write_text(KERNEL)
    (model,) = open_artifact(str(tmp_path)).models
    assert [Path(source.path).name for source in model.sources] == ["output_code.py"]
    assert model.device == "cuda"


def test_folder_keeps_the_symbols_of_wrappers_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.wrapper.cpp").write_text(f"// {name}\n{WRAPPER}")
    (tmp_path / "a.wrapper_metadata.json").write_text(METADATA)
    models = open_artifact(str(tmp_path)).models
    assert [(model.name, model.device) for model in models] == [("a.wrapper.cpp", "cuda"), ("b.wrapper.cpp", None)]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("kernel.py", KERNEL, ArtifactKind.KERNEL),
        ("output_code.py", PYTHON_WRAPPER, ArtifactKind.PYTHON_WRAPPER),
        ("x.wrapper.cpp", WRAPPER, ArtifactKind.CPP_WRAPPER),
    ],
)
def test_single_source_opens_by_its_content(tmp_path: Path, name: str, text: str, kind: ArtifactKind) -> None:
    path = tmp_path / name
    path.write_text(text)
    artifact = open_artifact(str(path))
    assert (artifact.kind, artifact.models[0].sources[0].text) == (kind, text)


def test_line_ends_and_a_byte_order_mark_do_not_change_the_text(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(b"\xef\xbb\xbf" + KERNEL.replace("\n", "\r\n").encode())
    assert open_artifact(str(path)).models[0].sources[0].text == KERNEL.replace("\n", "\r\n")


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 64, b"\x89PNG", b"import torch\n", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)]
)
def test_what_is_no_artifact_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    for name in ("a.pt2", "a.py", "a.bin"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(KernelscopeError) as caught:
            open_artifact(str(path))
        assert str(path) in caught.value.one_line()
        assert "\n" not in caught.value.one_line()


def test_missing_path_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(KernelscopeError, match="no such file"):
        open_artifact(str(tmp_path / "absent.pt2"))
    with pytest.raises(KernelscopeError):
        open_artifact("a\0b")


def test_exported_program_without_a_compiled_model_says_what_to_do(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2", {"a/models/model.json": "{}", "a/archive_format": "pt2"})
    with pytest.raises(KernelscopeError, match="no AOTInductor model") as caught:
        open_artifact(str(path))
    assert "aoti_compile_and_package" in caught.value.try_this


def test_weights_and_libraries_are_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = bytes(5 << 20)
    members: dict[str, str | bytes] = {
        f"{PREFIX}a.wrapper.cpp": WRAPPER,
        f"{PREFIX}a.wrapper.so": weights,
        "model/data/weights/weight_0": weights,
        f"{PREFIX}a.cubin": weights,
    }
    path = write_package(tmp_path / "a.pt2", members)
    read: list[str] = []
    original = zipfile.ZipFile.open

    def recorded(self: zipfile.ZipFile, name: zipfile.ZipInfo, *rest: object) -> object:
        read.append(name.filename)
        return original(self, name)

    monkeypatch.setattr(zipfile.ZipFile, "open", recorded)
    (model,) = open_artifact(str(path)).models
    assert read == [f"{PREFIX}a.wrapper.cpp"]
    assert len(model.binaries["a.cubin"]()) == len(weights)


def test_nothing_in_a_package_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').write('x')\n"
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("__init__.py", "sitecustomize.py", "conftest.py", "kernel.py"):
        (folder / name).write_text(trap + KERNEL)
    monkeypatch.chdir(folder)
    executed: list[object] = []
    monkeypatch.setattr(builtins, "exec", executed.append)
    assert len(open_artifact(".").models[0].sources) == 4
    assert not executed
    assert not (tmp_path / "ran").exists()


def test_opening_imports_no_elf_reader_and_no_torch(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2")
    code = (
        "import sys; from kernelscope.artifact import open_artifact, cubin; open_artifact(sys.argv[1]);"
        "print(sorted({'torch', 'triton', 'elftools', 'fsspec', 'libcst', 'z3'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
