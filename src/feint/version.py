"""The version, apart from the package's front so that every layer can name it."""

VERSION = "0.1.0"
