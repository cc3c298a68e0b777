"""The paper's figures and ours, one file each (`contract`), under the names that `feint reproduce` takes."""
