/** The options with which PGlite starts PostgreSQL. */
import { PGlite } from "@electric-sql/pglite"

/** PostgreSQL's default of 128 MB for its buffers is touched whole at the start; the files are cached by the system. */
export const startParameters = [
  ...PGlite.defaultStartParams,
  "-c",
  "shared_buffers=16MB",
  "-c",
  "max_files_per_process=64",
]
