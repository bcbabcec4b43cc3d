"""`completion bash|zsh|fish`: the script that makes a shell ask this application what can stand at the cursor.

A script is the shell's half of the protocol in `spec/completion.md`: it hands over the words, and puts the answer in.
It names the application by its name and starts it by its program, both quoted; nothing in it depends on the home, so
that it is written once and stays right through every publication. RK-COMP-020
"""

from __future__ import annotations

import click

from rukh.cli.context import Context
from rukh.cli.output import write_out
from rukh.cli.text import quote

_BASH = """\
# Completion of NAME for bash. In ~/.bashrc:  eval "$(NAME completion bash)"
_FUNCTION() {
    local -a answer
    COMPREPLY=()
    mapfile -t answer < <(PROGRAM completion --words bash "$COMP_WORDBREAKS" \\
        "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" 2>/dev/null </dev/null)
    case ${answer[0]-} in
        words)
            COMPREPLY=("${answer[@]:1}")
            [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
            ;;
        files*) compopt -o default 2>/dev/null ;;
        directories*) compopt -o dirnames 2>/dev/null ;;
    esac
    return 0
}
complete -F _FUNCTION NAME
"""

_ZSH = """\
#compdef NAME
# Completion of NAME for zsh. In ~/.zshrc, behind compinit:  eval "$(NAME completion zsh)"
# or as a file _NAME in a directory of $fpath.
_FUNCTION() {
    local -a answer plain joined
    local line word summary
    answer=("${(@f)$(PROGRAM completion --words zsh $((CURRENT - 1)) "${(@Q)words[2,CURRENT-1]}" \\
        "${(Q)PREFIX}" "${(@Q)words[CURRENT+1,-1]}" 2>/dev/null </dev/null)}")
    case $answer[1] in
        words)
            for line in "${(@)answer[2,-1]}"; do
                word=${line%%$'\\t'*} summary=
                [[ $line == *$'\\t'* ]] && summary=:${line#*$'\\t'}
                word=${word//\\\\/\\\\\\\\}
                if [[ $word == *= ]]; then
                    joined+=("${word//:/\\\\:}$summary")
                else
                    plain+=("${word//:/\\\\:}$summary")
                fi
            done
            _describe -t words NAME plain -- joined -S ''
            ;;
        files*) compset -p ${answer[1]#* }; _files ;;
        directories*) compset -p ${answer[1]#* }; _files -/ ;;
        *) return 1 ;;
    esac
}
if [[ ${funcstack[1]-} == _NAME ]]; then
    _FUNCTION "$@"
elif (( $+functions[compdef] )); then
    compdef _FUNCTION NAME
fi
"""

_FISH = """\
# Completion of NAME for fish. In ~/.config/fish/config.fish:  NAME completion fish | source
function _FUNCTION
    set -l before (commandline -opc)
    set -l token (commandline -ct)
    set -l word (string unescape -- $token)
    test (count $word) -eq 1; or set word "$token"
    set -l behind (commandline -op)
    set -l whole (commandline -t)
    set -l first (math (count $before) + 1)
    test -n "$whole"; and set first (math $first + 1)
    set -l answer (PROGRAM completion --words fish (count $before) $before[2..-1] "$word" \\
        $behind[$first..-1] 2>/dev/null </dev/null)
    test (count $answer) -gt 0; or return
    set -l kind (string split ' ' -- $answer[1])
    switch $kind[1]
        case words
            printf '%s\\n' $answer[2..-1]
        case files directories
            set -l prefix (string sub -l $kind[2] -- "$token")
            set -l part (string sub -s (math $kind[2] + 1) -- "$token")
            if test $kind[1] = files
                printf '%s\\n' "$prefix"(__fish_complete_path "$part")
            else
                printf '%s\\n' "$prefix"(__fish_complete_directories "$part" '')
            end
    end
end
complete -c NAME -e
complete -c NAME -f -k -a '(_FUNCTION)'
"""


def _posix_words(program: list[str]) -> str:
    return " ".join(quote(word) for word in program)


def _fish_words(program: list[str]) -> str:
    escaped = (word.replace("\\", "\\\\").replace("'", "\\'") for word in program)
    return " ".join(f"'{word}'" for word in escaped)


_SHELLS = {"bash": (_BASH, _posix_words), "zsh": (_ZSH, _posix_words), "fish": (_FISH, _fish_words)}


def script(shell: str, name: str, program: list[str]) -> bytes:
    """The script for `shell` of the application `name`, which `program` starts."""
    template, words = _SHELLS[shell]
    text = template.replace("_FUNCTION", f"_{name.replace('-', '_')}_completion")
    # The program last: what is in it is nobody's template.
    return text.replace("NAME", name).replace("PROGRAM", words(program)).encode("utf-8", "surrogateescape")


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_SHELLS)), metavar="SHELL")
@click.pass_obj
def completion_verb(context: Context, shell: str) -> int:
    """Print the completion script for SHELL: bash, zsh or fish.

    It is to be read by the shell when it starts; the script says how.
    """
    write_out(script(shell, context.name, context.program))
    return 0
