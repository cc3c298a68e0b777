"""What has nothing to do with bandits: files, errors, texts, figures and progress. Everything may import it."""
