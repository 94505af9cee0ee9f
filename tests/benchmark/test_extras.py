"""The light install: what works without Dask and without MLflow's server, and what names the extra to install."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as real_version
from pathlib import Path

import pytest

from benchmark import extras
from benchmark.__main__ import main
from benchmark.commands.doctor import check_all
from benchmark.execution.dask_cluster import DaskExecutor
from benchmark.records.provenance import provenance
from tests.benchmark.tiny_sweeps import environment, write_tiny
from tests.readme import ROOT

NOT_IN_A_LIGHT_INSTALL = (
    *("dask", "distributed"),
    *("aiohttp", "docker", "flask", "flask_cors", "graphene", "gunicorn", "huey", "skops"),
    "psycopg2",
)


@pytest.fixture
def light_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        if package in ("dask", "distributed", "mlflow"):
            raise PackageNotFoundError(package)
        return real_version(package)

    monkeypatch.setattr(extras, "version", version)


@pytest.mark.usefixtures("light_install")
def test_the_error_for_missing_dask_names_the_extra():
    with pytest.raises(OSError, match=r"^--executor dask needs the package distributed.*'fedbandit-bench\[dask\]'$"):
        DaskExecutor("tcp://127.0.0.1:9")
    (finding,) = (finding for finding in check_all("tcp://127.0.0.1:9") if finding.subject == "cluster")
    assert "pip install 'fedbandit-bench[dask]'" in finding.result


@pytest.mark.usefixtures("light_install")
def test_the_error_for_a_missing_mlflow_server_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    assert main(["ui"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: fedbandit ui needs the package mlflow, which is not installed; ")
    assert error.endswith("pip install 'fedbandit-bench[ui]'\n")
    assert error.count("\n") == 1


@pytest.mark.usefixtures("light_install")
def test_a_light_install_still_records_the_version_of_mlflow():
    provenance.cache_clear()
    assert provenance()["fedbandit.version.mlflow"] == real_version("mlflow")


@pytest.mark.slow
def test_a_sweep_needs_neither_dask_nor_the_server(tmp_path: Path):
    write_tiny(tmp_path, steps=50)
    arguments = ["run", "tiny.toml", "--method", "sync-linucb", "--seeds", "1", "--jobs", "1"]
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({NOT_IN_A_LIGHT_INSTALL!r}))\n"  # None: importing it fails
        "from benchmark.__main__ import main\n"
        f"sys.exit(main({arguments!r}))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "tiny  Tiny  (3 runs finished)" in result.stdout


def test_only_extras_need_dask_the_server_or_a_database_driver():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    heavy = re.compile(r"(dask|distributed|mlflow|psycopg2-binary)\b(?!-)")
    assert [text for text in project["dependencies"] if heavy.match(text)] == []
    extras_of_users = {name for name in project["optional-dependencies"] if name not in ("all", "dev", "docs")}
    assert project["optional-dependencies"]["all"] == ["fedbandit-bench[dask,ui,postgresql]"]
    assert extras_of_users == {"dask", "ui", "postgresql"}
