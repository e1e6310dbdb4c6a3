/** The tests that are run first for a changed file, by its folder. */

const nearest: Readonly<Record<string, ReadonlyArray<string>>> = {
  "migrations/functions": ["test/unit/money", "test/books/money", "test/simulator", "test/contract"],
  "src/admission": ["test/unit/admission", "test/integration/admission", "test/contract"],
  "src/calls": ["test/unit/calls", "test/unit/money", "test/books/money", "test/contract", "test/faults"],
  "src/object-storage": [
    "test/unit/exports",
    "test/contract/compatible/files-in-a-bucket.test.ts",
    "test/books/exports",
  ],
  "src/exports": ["test/unit/exports", "test/integration/exports", "test/books/exports"],
  "src/http": ["test/unit/http", "test/integration/http", "test/contract"],
  "src/kinds": ["test/unit/kinds", "test/integration/http/sockets", "test/contract"],
  "src/money": ["test/unit/money", "test/books/money", "test/simulator"],
  "src/store": [
    ...["test/unit/store", "test/integration/store", "test/books/store", "test/unit/money", "test/books/money"],
    ...["test/contract/upstream-keys", "test/unit/calls"],
  ],
  "src/upstream": ["test/unit/upstream", "test/integration/upstream", "test/contract", "test/unit/calls"],
  "src/webhooks": ["test/unit/webhooks", "test/contract/books/webhooks"],
}

/** Paths of tests, or their beginnings; none if the folder of the file has none. */
export const nearestTo = (file: string): ReadonlyArray<string> => nearest[file.split("/").slice(0, 2).join("/")] ?? []
