"""The paper's figures and ours, one file each (`contract` says of what shape), named as in `feint reproduce`.

The command and the book import this folder.
"""
