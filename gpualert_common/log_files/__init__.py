"""Log files of a run that nobody supervised: found in folders, decompressed, decoded to text"""
