/** The worker thread of the embedded database: PGlite behind a socket, so that the same client serves both. */
import { parentPort, workerData } from "node:worker_threads"
import { PGlite } from "@electric-sql/pglite"
import { createFiles, emptyDatabase } from "./embedded-files.ts"
import { startParameters } from "./embedded-parameters.ts"
import { type EmbeddedWorkerData, isStopMessage } from "./embedded-protocol.ts"
import { serveEmbedded } from "./embedded-server.ts"

const { dataDir }: EmbeddedWorkerData = workerData
if (dataDir !== undefined) createFiles(dataDir)
const db = await PGlite.create({
  startParams: startParameters,
  ...(dataDir === undefined ? { loadDataDir: emptyDatabase() } : { dataDir }),
})
const server = await serveEmbedded(db)
parentPort?.on("message", async (message: unknown) => {
  if (!isStopMessage(message)) return
  await server.stop()
  await db.close()
  parentPort?.postMessage({ stopped: true })
  parentPort?.close()
})
parentPort?.postMessage({ listening: server.address, password: server.password })
