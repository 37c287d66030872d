"""The command ``jelly help``."""

from __future__ import annotations

import click

from jelly.cli.common import ALL

__all__ = ["help_"]


@click.command("help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command with all its options, such as limits, which --help leaves out.

    \b
    Examples:
      jelly help convert
      jelly help patch apply
    """
    context = ctx.find_root()
    for word in words:
        found = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
        if found is None:
            raise click.UsageError(f"No such command {' '.join(words)!r}.")
        context = click.Context(found, parent=context, info_name=word)
    rare = [option for option in context.command.params if isinstance(option, click.Option) and option.hidden]
    context.meta[ALL] = True
    for option in rare:
        option.hidden = False
    click.echo(context.command.get_help(context))
    for option in rare:
        option.hidden = True
