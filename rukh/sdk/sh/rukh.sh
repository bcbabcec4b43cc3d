# What a script of a Rukh extension sources, in front of all else:
#
#     #!/bin/sh
#     . "${0%/*}/../lib/rukh.sh"
#
#     rukh_get name name                       # $name is the input `name`
#     rukh_result greeting:string="Hello, $name"
#
# POSIX sh. Its companion `lib/rukh-sh` has started the script and speaks to the host. The inputs are checked already;
# none of them is ever read as shell code. What the script prints is output and never the result.

if [ -z "${RUKH_SH-}" ]; then
    echo 'rukh.sh: this script is started by lib/rukh-sh: "entry": ["lib/rukh-sh", "bin/script"]' >&2
    exit 1
fi

# rukh_has ID: whether the input is there, given by the caller or by its default.
rukh_has() {
    [ -e "$RUKH_SH/in/$1" ]
}

# rukh_supplied ID: whether the caller gave the input.
rukh_supplied() {
    [ -e "$RUKH_SH/supplied/$1" ]
}

# rukh_get VARIABLE ID: set the variable to the input, byte for byte; 1, and an empty variable, when it is not there.
rukh_get() {
    case $1 in
        '' | [0-9]* | *[!A-Za-z0-9_]*)
            echo "rukh_get: '$1' is no name of a variable" >&2
            exit 1
            ;;
    esac
    rukh__value=
    if [ ! -f "$RUKH_SH/in/$2" ]; then
        eval "$1="
        return 1
    fi
    # A line feed at the end of the value would be cut off; the mark behind it is not.
    rukh__value=$(cat "$RUKH_SH/in/$2" && echo .)
    rukh__value=${rukh__value%.}
    eval "$1=\$rukh__value"
}

# rukh_count ID: print how many items a list has; 0 when it is not there.
rukh_count() {
    rukh__n=0
    while [ -f "$RUKH_SH/in/$1/$((rukh__n + 1))" ]; do
        rukh__n=$((rukh__n + 1))
    done
    echo "$rukh__n"
}

# rukh_item VARIABLE ID N: set the variable to the Nth item of a list, from 1.
rukh_item() {
    rukh_get "$1" "$2/$3"
}

# rukh_each FUNCTION ID: call the function with each item of a list.
rukh_each() {
    set -- "$1" "$2" 1
    while rukh_item rukh__item "$2" "$3"; do
        "$1" "$rukh__item" || return
        set -- "$1" "$2" $(($3 + 1))
    done
}

# rukh_cancelled: whether the host has asked for an end. A script that looks here ends well; one that does not is ended.
rukh_cancelled() {
    [ -e "$RUKH_SH/cancelled" ]
}

# rukh_progress NUMBER [TOTAL [MESSAGE]]: tell how far the work is.
rukh_progress() {
    printf '%s\t%s\t%s\n' "$1" "${2-}" "$(printf '%s' "${3-}" | tr '\n\t' '  ')" >&3
}

# rukh_result NAME:TYPE=VALUE …: the structured result as an object. TYPE is string, integer, number, boolean or
# decimal. NAME+:TYPE=VALUE adds an item to a list, NAME:list begins one that may stay empty.
rukh_result() {
    rukh__clear
    rukh_field "$@"
}

# rukh_field NAME:TYPE=VALUE …: add to that object, for a result that is made in steps.
rukh_field() {
    if [ $# -gt 0 ]; then
        printf '%s\000' "$@" >>"$RUKH_SH/fields"
    else
        : >>"$RUKH_SH/fields"
    fi
}

# rukh_result_json [FILE]: the structured result as the one JSON value in the file, or in standard input.
rukh_result_json() {
    rukh__clear
    cat -- "${1--}" >"$RUKH_SH/json"
}

# rukh_result_text [TEXT]: the text result; without an argument standard input, byte for byte.
rukh_result_text() {
    rukh__clear
    if [ $# -gt 0 ]; then
        printf '%s' "$*" >"$RUKH_SH/text"
    else
        cat >"$RUKH_SH/text"
    fi
}

# rukh_fail MESSAGE [STATUS]: the command has failed in a way it knows; 1 to 63, else 1. Ends the script.
rukh_fail() {
    case ${2-1} in
        [1-9] | [1-5][0-9] | 6[0-3]) rukh__status=${2-1} ;;
        *) rukh__status=1 ;;
    esac
    printf '%s\n%s' "$rukh__status" "$1" >"$RUKH_SH/failed"
    exit "$rukh__status"
}

rukh__clear() {
    rm -f "$RUKH_SH/text" "$RUKH_SH/json" "$RUKH_SH/fields"
}
