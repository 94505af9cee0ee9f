"""Compiled kernels that are damaged on disk; bundles that were changed; containers that share a temporary folder."""

import hashlib
import io
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from algorithms.kernel_cache import CACHE_FOLDER
from tests.benchmark.tiny_sweeps import command, environment, fedbandit
from tests.chaos.sweeps import Faults, Workspace, no_refusal, wrong_end

OWN_IDS = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
"""Start a command in a container that has its own process ids."""


def damage_kernels(times: int, random: Random, folder: Path) -> Faults:
    """Cut, empty or change a file of a compiled kernel: it is compiled again, and the results are the same."""
    cache = Workspace(folder, 1).folder / "cache"
    shutil.copytree(CACHE_FOLDER, cache / "fedbandit" / CACHE_FOLDER.name)
    files = sorted(file for name in ("async", "sync") for file in cache.rglob(f"*/*{name}_linucb._run*.nb[ic]"))
    for number in range(times):
        file, workspace = random.choice(files), Workspace(folder, 1)
        content = file.read_bytes()
        file.write_bytes(_damaged(content, random, number % 3))
        done = fedbandit(workspace.folder, "run", "tiny.toml", NUMBA_CACHE_DIR=str(cache))
        problems = wrong_end(done.returncode, done.stderr) + workspace.differences(workspace.runs)
        yield 1, problems
        file.write_bytes(content)


def _damaged(content: bytes, random: Random, how: int) -> bytes:
    if how == 0:
        return content[: random.randrange(len(content))]
    place = random.randrange(len(content))
    return (
        b"" if how == 1 else content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]
    )


def tamper_with_bundles(times: int, random: Random, folder: Path) -> Faults:
    """Change a byte, a metric or the list of runs of a bundle: it is refused, or found to be wrong."""
    workspace = Workspace(folder, 1)
    problems = workspace.run_again()
    for arguments in (("bundle", "tiny", "-o", "tiny.zip"), ("verify", "tiny.zip", "--sample", "2")):
        done = fedbandit(workspace.folder, *arguments)
        problems += wrong_end(done.returncode, done.stderr)
    file = workspace.folder / "tiny.zip"
    content = file.read_bytes()
    for number in range(times):
        kind = number % 6
        file.write_bytes(_tampered(content, random, kind))
        done = fedbandit(workspace.folder, "verify", "tiny.zip", "--all")
        # A reward that is changed with its hash is a valid file: only executing the runs shows it.
        yield 1, problems + (wrong_end(done.returncode, done.stderr, [1]) if kind == 5 else no_refusal(done))
        problems = []
    yield 0, workspace.differences(workspace.runs)


def _tampered(content: bytes, random: Random, kind: int) -> bytes:
    if kind < 3:
        place = random.randrange(len(content) // 10, len(content) * 9 // 10)
        changed = bytes([content[place] ^ 1 << random.randrange(8)])
        return content[:place] + changed + content[place + 1 :] if kind else content[:place]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if kind == 3:  # a run is left out
        runs = json.loads(members["runs.json"])
        runs["runs"].pop(random.randrange(len(runs["runs"])))
        members["runs.json"] = json.dumps(runs).encode()
    elif kind == 4:  # the seed of a run is another
        runs = json.loads(members["runs.json"])
        runs["runs"][0][2] += 1
        members["runs.json"] = json.dumps(runs).encode()
    else:
        table = pq.read_table(io.BytesIO(members["metrics.parquet"]))
        place = table.column_names.index("reward")
        rewards = [value * 1.01 for value in table.column(place).to_pylist()]
        buffer = io.BytesIO()
        pq.write_table(table.set_column(place, "reward", pa.array(rewards)), buffer)
        members["metrics.parquet"] = buffer.getvalue()
    about = json.loads(members["bundle.json"])
    about["sha256"] = {name: hashlib.sha256(members[name]).hexdigest() for name in about["sha256"]}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in (members | {"bundle.json": json.dumps(about).encode()}).items():
            archive.writestr(name, member)
    return buffer.getvalue()


def may_have_own_ids() -> bool:
    try:
        return subprocess.run([*OWN_IDS, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def share_temporary_folder(times: int, random: Random, folder: Path) -> Faults:
    """Start sweeps in containers with their own process ids while another sweep runs, all with one temporary folder."""
    shared = Workspace(folder, 1).folder
    outside = Workspace(folder, 8)
    process = outside.sweep(1, TMPDIR=str(shared))
    injected, problems = 0, list[str]()
    for _ in range(times):
        inside = Workspace(folder, 1)
        outside.wait_for_records(process)
        was_alive = process.poll() is None
        done = subprocess.run(
            [*OWN_IDS, *command("run", "tiny.toml", "--jobs", "1")],
            cwd=inside.folder,
            env=environment(TMPDIR=str(shared)),
            capture_output=True,
            text=True,
            timeout=300,
        )
        injected += was_alive
        problems += wrong_end(done.returncode, done.stderr) + inside.differences(inside.runs)
    yield injected, problems + outside.wrong_end(process) + outside.run_again()
