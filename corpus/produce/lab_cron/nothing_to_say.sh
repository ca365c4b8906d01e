# /// case
# cause = "none"
# exit_code = 0
# ///
# A quiet program that does its work.

cd "$HOME" || exit 3
python -c 'import json; json.dump({"weights": [1, 2]}, open("weights.json", "w"))'
