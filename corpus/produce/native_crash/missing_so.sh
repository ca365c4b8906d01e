# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# needs = ["gcc"]
# why = "a shared library that another library needs is missing; OSError of ctypes"
# ///
# A plug-in was linked against a library that is not installed on this node.
mkdir -p lib plugins
echo 'int codec_level(void) { return 3; }' > codec.c
echo 'int codec_level(void); int reader_open(void) { return codec_level(); }' > reader.c
gcc -shared -fPIC -Wl,-soname,libzcodec.so.5 -o lib/libzcodec.so.5 codec.c
gcc -shared -fPIC -o plugins/libreader.so reader.c -Llib -l:libzcodec.so.5
rm -r lib
cat > ingest.py <<'EOF'
import ctypes
import logging

logging.basicConfig(level="INFO", format="%(asctime)s.%(msecs)03d | %(levelname)s | %(message)s")
for name in ("libm.so.6", "plugins/libreader.so"):
    logging.info("loading plugin %s", name)
    try:
        library = ctypes.CDLL(name if name.startswith("lib") else f"./{name}")
    except OSError:
        logging.exception("could not load %s", name)
        raise SystemExit(1)
logging.info("reader level %d", library.reader_open())
EOF
python ingest.py
