"""A contract for import-linter: halfmoon.a._b is imported by modules of halfmoon.a only."""

from importlinter import Contract, ContractCheck, output


class PrivacyContract(Contract):
    def check(self, graph, verbose):
        broken = []
        for importer in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                parts = imported.split(".")
                private = next((k for k, part in enumerate(parts) if k > 1 and part.startswith("_")), None)
                if private is not None and not importer.startswith(".".join(parts[:private])):
                    broken.append((importer, imported))
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check):
        for importer, imported in check.metadata["broken"]:
            output.print_error(f"{importer} imports {imported}: import it from the package that exports it.")
