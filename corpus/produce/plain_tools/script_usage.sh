# /// case
# cause = "config"
# exit_code = 64
# why = "the script refuses an option, and shows its usage"
# ///
# A shell script parses its options with getopts.

cd "$HOME" || exit 3
set -- -e 10 -z 4
while getopts "e:b:" option; do
    case $option in
        e) epochs=$OPTARG ;;
        b) batch=$OPTARG ;;
        *) echo "usage: prepare [-e EPOCHS] [-b BATCH]" >&2; exit 64 ;;
    esac
done
echo "$epochs $batch"
