/**
 * Storage of files outside of the database: a bucket at S3 (or a server that speaks its protocol), Google or Azure, or a
 * folder. A file is written whole or not at all, and replaces the file that has its name.
 * Sources: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html,
 * https://cloud.google.com/storage/docs/xml-api/put-object-upload,
 * https://learn.microsoft.com/rest/api/storageservices/put-blob
 */
import { hash, randomUUID } from "node:crypto"
import { mkdir, open, readFile, rename, rm, rmdir, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Data, Effect } from "effect"
import { type Identity, IdentityFailed } from "../cloud-identities/identity.ts"
import { fetchBytes, replyTooLarge, type VendorClient } from "../upstream/client.ts"
import type { Network } from "../upstream/network.ts"

/** A file could not be written or read; a sentence for operators, without secrets and without text of the server. */
export class TargetFailed extends Data.TaggedError("TargetFailed")<{ readonly problem: string }> {}

export interface Target {
  /** Writes a file; its bytes may be freed. */
  readonly put: (path: string, bytes: Uint8Array) => Effect.Effect<void, TargetFailed>
}

/** A target whose files are read again. */
export interface Storage extends Target {
  /**
   * A file, of at most so many bytes.
   * @returns undefined if there is none, or if it is larger
   */
  readonly get: (path: string, mostBytes: number) => Effect.Effect<Uint8Array | undefined, TargetFailed>
  /** Removes a file, if it is there. */
  readonly remove: (path: string) => Effect.Effect<void, TargetFailed>
}

/** A bucket or folder, and the identity for it. */
export interface StoragePlace {
  readonly entry: {
    /** `s3://bucket/prefix`, `gs://…`, `az://…` or `file:///folder`. */
    readonly to: string
    readonly region?: string | undefined
    readonly endpoint?: string | undefined
  }
  /** Undefined if it needs none, or if a secret is not set here. */
  readonly identity: Identity | undefined
  readonly network: Network | undefined
}

export const targetOf = (place: StoragePlace, client: VendorClient["Service"]): Storage =>
  place.entry.to.startsWith("file:") ? folderTarget(place.entry.to) : bucketTarget(place, client)

const folderTarget = (to: string): Storage => {
  const folder = fileURLToPath(to)
  return {
    // It cannot be stopped half way: who is interrupted waits for it.
    put: (path, bytes) =>
      Effect.uninterruptible(
        Effect.tryPromise({
          try: () => replaceFile(join(folder, path), bytes),
          catch: (cause) => new TargetFailed({ problem: `the folder cannot be written: ${codeOf(cause)}` }),
        }),
      ),
    get: (path, mostBytes) =>
      Effect.tryPromise({
        try: () => readWhole(join(folder, path), mostBytes).catch(ifThere),
        catch: (cause) => new TargetFailed({ problem: `the folder cannot be read: ${codeOf(cause)}` }),
      }),
    remove: (path) =>
      Effect.tryPromise({
        try: () => removeFile(join(folder, path)),
        catch: (cause) => new TargetFailed({ problem: `the folder cannot be written: ${codeOf(cause)}` }),
      }),
  }
}

const readWhole = async (path: string, mostBytes: number): Promise<Buffer | undefined> =>
  (await stat(path)).size > mostBytes ? undefined : readFile(path)

/** The folder of a file goes with its last file. */
const removeFile = async (path: string): Promise<void> => {
  await rm(path, { force: true })
  await rmdir(dirname(path)).catch(() => {})
}

const ifThere = (cause: unknown): undefined => {
  if (codeOf(cause) !== "ENOENT") throw cause
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error"

/** Writes a file to the disk before it gets its name, which exists when this ends. */
export const replaceFile = async (path: string, bytes: Uint8Array): Promise<void> => {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true })
  const temporary = join(folder, `.${randomUUID()}.part`)
  const file = await open(temporary, "wx")
  try {
    await file.writeFile(bytes)
    await file.sync()
    await file.close()
    await rename(temporary, path)
  } catch (cause) {
    await file.close().catch(() => {})
    await rm(temporary, { force: true })
    throw cause
  }
  const names = await open(folder, "r")
  await names.sync().finally(() => names.close())
}

const askMs = 120_000
const maxReplyBytes = 64 * 1024

const bucketTarget = (place: StoragePlace, client: VendorClient["Service"]): Storage => {
  const { identity, network, entry } = place
  const { baseUrl, prefix, kind } = addressOf(entry)

  const ask = Effect.fnUntraced(function* (
    method: "GET" | "PUT" | "DELETE",
    path: string,
    sent: { readonly headers: Record<string, string>; readonly body: Uint8Array | string },
    mostBytes: number,
  ) {
    if (network?.problem !== undefined) return yield* failed(network.problem)
    if (identity === undefined) return yield* failed("a secret that the catalogue references is not set here")
    const request = {
      method,
      baseUrl,
      path: `/${[...prefix, ...path.split("/")].map(encodeURIComponent).join("/")}`,
      headers: sent.headers,
    }
    const authorization = yield* Effect.tryPromise({
      try: () => identity.authorize({ ...request, body: "" }, { client, network, isGuarded: false }),
      catch: (cause) =>
        new TargetFailed({ problem: cause instanceof IdentityFailed ? cause.sentence : "there is no identity now" }),
    })
    const headers = { ...request.headers, ...authorization }
    return yield* fetchBytes(client, { ...request, headers, body: sent.body, network }, mostBytes).pipe(
      Effect.timeout(askMs),
      Effect.catchTags({
        UpstreamBroken: ({ cause }) => failed(cause === replyTooLarge ? tooLarge : "the bucket cannot be reached"),
        TimeoutError: () => failed("the bucket took longer than two minutes"),
      }),
    )
  })
  const empty = { headers: emptyHeadersOf[kind], body: "" }
  const isGood = (status: number) => status >= 200 && status < 300
  const answered = (status: number) => failed(`the bucket answered HTTP ${status}`)

  return {
    put: Effect.fnUntraced(function* (path, bytes) {
      const { status } = yield* ask("PUT", path, { headers: headersOf[kind](bytes), body: bytes }, maxReplyBytes)
      if (!isGood(status)) return yield* answered(status)
    }),
    get: Effect.fnUntraced(function* (path, mostBytes) {
      const reply = yield* ask("GET", path, empty, Math.max(mostBytes, maxReplyBytes)).pipe(
        Effect.catchIf(
          ({ problem }) => problem === tooLarge,
          () => Effect.undefined,
        ),
      )
      if (reply === undefined || reply.status === 404) return undefined
      return isGood(reply.status) ? reply.body : yield* answered(reply.status)
    }),
    remove: Effect.fnUntraced(function* (path) {
      const { status } = yield* ask("DELETE", path, empty, maxReplyBytes)
      if (!isGood(status) && status !== 404) return yield* answered(status)
    }),
  }
}

const tooLarge = "the reply of the bucket is too large"
const failed = (problem: string) => Effect.fail(new TargetFailed({ problem }))

type Kind = "s3" | "gs" | "az"

/** The store checks the received bytes against a hash, which the signature at S3 contains too. */
const headersOf: { readonly [K in Kind]: (bytes: Uint8Array) => Record<string, string> } = {
  s3: (bytes) => ({ "x-amz-content-sha256": hash("sha256", bytes) }),
  gs: (bytes) => ({ "content-md5": hash("md5", bytes, "base64") }),
  az: (bytes) => ({
    "content-md5": hash("md5", bytes, "base64"),
    "x-ms-blob-type": "BlockBlob",
    "x-ms-version": "2023-11-03",
  }),
}

/** The same for requests without a body. */
const emptyHeadersOf: { readonly [K in Kind]: Record<string, string> } = {
  s3: { "x-amz-content-sha256": hash("sha256", "") },
  gs: {},
  az: { "x-ms-version": "2023-11-03" },
}

interface Address {
  readonly kind: Kind
  readonly baseUrl: string
  /** The segments before each path. */
  readonly prefix: ReadonlyArray<string>
}

/** A bucket of its own endpoint, or with a dot in its name, is a part of the path: no certificate covers its host. */
const addressOf = ({ to, region = "", endpoint }: StoragePlace["entry"]): Address => {
  const [scheme = "", rest = ""] = to.split("://")
  const [bucket = "", ...prefix] = rest.split("/").filter((part) => part !== "")
  if (scheme === "gs") {
    return { kind: "gs", baseUrl: endpoint ?? "https://storage.googleapis.com", prefix: [bucket, ...prefix] }
  }
  if (scheme === "az") {
    return { kind: "az", baseUrl: endpoint ?? `https://${bucket}.blob.core.windows.net`, prefix }
  }
  const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`
  return endpoint === undefined && !bucket.includes(".")
    ? { kind: "s3", baseUrl: `https://${bucket}.${host}`, prefix }
    : { kind: "s3", baseUrl: endpoint ?? `https://${host}`, prefix: [bucket, ...prefix] }
}
