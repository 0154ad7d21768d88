"""NotebookService: templates of Colab Enterprise's runtimes as records; no runtime is started."""
