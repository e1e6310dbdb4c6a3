/**
 * The part of the gateway that uploads of one application or person may take: so many at a time, on all nodes together, and a
 * share of the room for files of each node.
 */
import { Effect, type Scope } from "effect"
import { type AdmissionError, type AdmitRequest, Gate } from "../../../admission/gate.ts"
import { noTokens } from "../../../admission/rates/ended.ts"
import { WeirConfig } from "../../../config.ts"
import type { KeptOwner } from "../../../kept-responses/kept-response.ts"
import { type FileWriter, Spool } from "../../../media/spool.ts"
import type { SpoolError } from "../../../media/spooled-bytes.ts"
import { serviceError } from "../../../protocol/error.ts"

/** The part of a node's room that the uploads of one owner may take together; the oldest of them may take more. */
const shareOfRoom = 4

export interface Upload extends Pick<AdmitRequest, "owner" | "keyId" | "rates"> {
  readonly by: Pick<KeptOwner, "app" | "person">
}

/** Bytes of the uploads of one owner that run on this node. */
interface Taken {
  /** The oldest one first. */
  readonly uploads: Set<Running>
  bytes: number
}

interface Running {
  readonly taken: Taken
}

export const makeUploadShare = Effect.gen(function* () {
  const gate = yield* Gate
  const spool = yield* Spool
  const { fileUploads, mediaDiskBytes } = yield* WeirConfig
  const owners = new Map<string, Taken>()
  const mostBytes = mediaDiskBytes / shareOfRoom

  /** The room of an owner on this node, until the scope closes. */
  const roomOf = (owner: string) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const taken = owners.get(owner) ?? { uploads: new Set(), bytes: 0 }
        owners.set(owner, taken)
        const running = { taken }
        taken.uploads.add(running)
        return running
      }),
      (running) =>
        Effect.sync(() => {
          const { uploads } = running.taken
          uploads.delete(running)
          if (uploads.size === 0) owners.delete(owner)
        }),
    )

  /**
   * Counts an upload in rates, and among the uploads at a time until the scope closes.
   * @returns the spool for its files
   */
  return ({ by, ...asked }: Upload): Effect.Effect<Spool["Service"], AdmissionError, Scope.Scope> => {
    const scope = by.app === "" ? "person" : "app"
    const bucket = `uploads:${scope}:${encodeURIComponent(by[scope])}`
    const limited = { ...asked, slots: [{ bucket, limit: fileUploads, scope, of: "uploads" } as const] }
    const admitted = Effect.acquireRelease(gate.admit(limited), (admission) =>
      admission._tag === "Admitted" && admission.counted !== undefined
        ? gate.ended(limited, admission.counted, noTokens)
        : Effect.void,
    )
    return Effect.map(Effect.andThen(admitted, roomOf(`${asked.owner} ${bucket}`)), (running) => ({
      ...spool,
      create: Effect.map(
        Effect.acquireRelease(
          Effect.map(spool.create, (writer) => new SharedWriter(writer, running, mostBytes)),
          (writer) => Effect.sync(() => writer.close()),
        ),
        (writer): FileWriter => writer,
      ),
    }))
  }
})

class SharedWriter implements FileWriter {
  readonly #writer: FileWriter
  readonly #running: Running
  readonly #mostBytes: number
  #bytes = 0

  constructor(writer: FileWriter, running: Running, mostBytes: number) {
    this.#writer = writer
    this.#running = running
    this.#mostBytes = mostBytes
  }

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    this.#running.taken.bytes += chunk.length
    this.#writer.add(chunk)
  }

  /** A file may be larger than a share: the oldest upload goes on, and others are refused. */
  flush(): Promise<void> {
    const { bytes, uploads } = this.#running.taken
    const [oldest] = uploads
    return bytes > this.#mostBytes && oldest !== this.#running ? Promise.reject(shareTaken) : this.#writer.flush()
  }

  file() {
    return this.#writer.file()
  }

  close(): void {
    this.#running.taken.bytes -= this.#bytes
  }
}

const shareTaken: SpoolError = serviceError(
  "rate_limited",
  "The uploads of this application or person take all the room that they may have now: wait until one has ended",
  { detail: { scope: "gateway" }, retryAfterMs: 5000 },
)
