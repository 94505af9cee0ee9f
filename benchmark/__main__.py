"""The command `fedbandit`: every module in `benchmark/commands/` is one of its commands.

The docstring of a module is the help text, `ORDER` its place in the list of commands. `configure(parser)` declares its
arguments; `run(arguments)` returns the exit code, and bad input raises a ValueError with one clear line.
`arguments.words` are the words as they were given.
"""

import argparse
import importlib
import io
import os
import pkgutil
import re
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from types import ModuleType

from benchmark import commands
from benchmark.commands import data
from data_pipelines.support.messages import did_you_mean, one_line
from data_pipelines.support.secrets import without_secrets

NEGATIVE = re.compile(r"-\.?[0-9]")
"""The start of a negative number."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; bad input gives one line on stderr and exit code 2."""
    script = sys.modules["__main__"]
    if getattr(script, "main", None) is main:
        script.__spec__ = __spec__  # as for `python -m benchmark`, so that worker processes do not execute the script
    for stream in (sys.stdout, sys.stderr):  # a terminal that is not UTF-8 shows ? for γ
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    argv = with_negative_values(sys.argv[1:] if argv is None else argv)
    if argv[:1] == ["data"]:
        argv[1:] = data.with_sub_command(argv[1:])
    parser = _parser()
    if argv and not argv[0].startswith("-") and argv[0] not in _command_names():
        hint, names = did_you_mean(argv[0], _command_names()), ", ".join(_command_names())
        parser.error(one_line(f"argument COMMAND: invalid choice: {argv[0]!r}{hint}; expected one of: {names}"))
    arguments = parser.parse_args(argv, argparse.Namespace(words=argv))
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader (e.g. `head`) closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # exit code of a process killed by SIGPIPE
    except (ValueError, OSError) as error:
        if os.environ.get("FEDBANDIT_DEBUG"):
            raise
        text = str(error)
        if options := getattr(error, "options", ()):
            text += f"; try: {shlex.join(['fedbandit', *argv, *options])}"
        print(f"fedbandit: error: {one_line(without_secrets(text))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fedbandit: interrupted", file=sys.stderr)
        return 130


def with_negative_values(argv: Sequence[str]) -> list[str]:
    """Write `--budget -3/client` as `--budget=-3/client`: argparse takes it for an option otherwise."""
    joined: list[str] = []
    for text in argv:
        if NEGATIVE.match(text) and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += f"={text}"
        else:
            joined.append(text)
    return joined


def _command_names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(commands.__path__)]


def _commands() -> dict[str, ModuleType]:
    """Return the modules by name, in the order in which users need the commands."""
    modules = {name: importlib.import_module(f"benchmark.commands.{name}") for name in _command_names()}
    return dict(sorted(modules.items(), key=lambda item: item[1].ORDER))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fedbandit",
        description="A recommendation benchmark for federated linear bandits. Commands for your own data and methods "
        "come first, then those for the experiments of the paper, and for what is recorded.",
        epilog="Set FEDBANDIT_DEBUG=1 to see the traceback of an error.",
    )
    parser.add_argument("--version", action="version", version=f"fedbandit {version('fedbandit-bench')}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, command in _commands().items():
        text = command.__doc__ or ""
        subparser = subparsers.add_parser(
            name,
            help=text.partition("\n")[0],
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(subparser)
        subparser.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
