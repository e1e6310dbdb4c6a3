/**
 * A connection to Redis that heals: it is left when the server is silent, and when the server refuses commands for a
 * reason that a connection elsewhere would not have. Each new connection resolves the address again, asks the Sentinels
 * for the master again, and reads credentials and certificates again.
 */
import type { ConnectionOptions } from "node:tls"
import { Redacted, Result } from "effect"
import type { Redis as Client, Cluster } from "ioredis"
import type { TlsFiles } from "../config.ts"
import { parseRedisUrl, type RedisUrl } from "../protocol/values/redis-url.ts"
import { currentFiles } from "../secret-files.ts"

interface Place {
  /** The options are read for each new connection: a file may have another password by then. */
  readonly url: () => Redacted.Redacted
  readonly tlsFiles: TlsFiles
  readonly deadlineMs: number
}

export type Driver = Pick<typeof import("ioredis"), "Redis" | "Cluster">

/** A client of a Redis, a Sentinel or a Cluster, by its URL. @throws if the URL cannot be read, which {@link parseRedisUrl} reports before */
export const connectToRedis = (driver: Driver, { url, tlsFiles, deadlineMs }: Place): Client | Cluster => {
  const read = () => Result.getOrThrow(parseRedisUrl(Redacted.value(url())))
  const { nodes, isCluster, masterName, isTls, db } = read()
  const tls = isTls ? Object.defineProperties({}, currentFiles({ ...tlsFiles })) : undefined
  const connectTimeout = Math.max(deadlineMs, shortestConnectMs)
  const options = {
    db,
    tls,
    connectTimeout,
    socketTimeout: deadlineMs * deadDeadlines,
    maxRetriesPerRequest: 1,
    // Fail a command that cannot be sent now: do not queue commands while Redis is not reachable.
    enableOfflineQueue: false,
    // Callers no longer wait for commands that were sent on a broken connection.
    autoResendUnfulfilledCommands: false,
    reconnectOnError: leavesWrongServer(),
  }
  const connectOne = () => {
    const one: Client = new driver.Redis({
      ...options,
      ...credentialsOf(read()),
      ...(masterName === undefined ? nodes[0] : sentinelOptions(nodes, masterName, connectTimeout, tls)),
      retryStrategy: (tries) => {
        // The driver connects with the options that it has at that time.
        Object.assign(one.options, credentialsOf(read()))
        return Math.min(50 * tries, 1000)
      },
    })
    return one
  }
  const client = isCluster
    ? new driver.Cluster([...nodes], { redisOptions: withCurrent(options, read), enableOfflineQueue: false })
    : connectOne()
  // Each call reports its own failure; an "error" event without a listener would end the process.
  client.on("error", () => {})
  return client
}

const sentinelOptions = (
  sentinels: RedisUrl["nodes"],
  name: string,
  connectTimeout: number,
  tls: ConnectionOptions | undefined,
) => ({
  sentinels: [...sentinels],
  name,
  role: "master" as const,
  // A Sentinel that does not answer is left for the next one.
  sentinelCommandTimeout: connectTimeout,
  sentinelRetryStrategy: (tries: number) => Math.min(50 * tries, 1000),
  // The Sentinels report a failover, so that a master that has vanished is left at once.
  failoverDetector: true,
  ...(tls !== undefined && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
})

const credentialsOf = ({ username, password, sentinelUsername, sentinelPassword }: RedisUrl) => ({
  username,
  password,
  ...(sentinelUsername !== undefined && { sentinelUsername }),
  ...(sentinelPassword !== undefined && { sentinelPassword }),
})

/** A cluster reads the options of each connection to a node here. */
const withCurrent = <Options extends object>(options: Options, read: () => RedisUrl): Options =>
  Object.defineProperties(options, {
    username: { enumerable: true, get: () => read().username },
    password: { enumerable: true, get: () => read().password },
  })

/**
 * Replies of a server to which this connection should not go any more, or not now: a replica (`READONLY`, `MASTERDOWN`), a
 * master without its replicas (`NOREPLICAS`), a server that is loading, cannot write to its disk, has no memory, or has lost
 * the connection's login. Before version 7, an error in a script has the code in the middle.
 *
 * @see https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors
 */
const wrongServer = /(^|-)(READONLY|LOADING|MISCONF|OOM|NOAUTH|NOPERM|WRONGPASS|CLUSTERDOWN|MASTERDOWN|NOREPLICAS) /

export const isFromWrongServer = (message: string): boolean => wrongServer.test(message)

/**
 * Leaves a wrong server at once, but after that not again for a while: an address, or a Sentinel, may point at it for long
 * after it has become a replica, and connecting to it succeeds.
 */
const leavesWrongServer = () => {
  let leftAtMs = Number.NEGATIVE_INFINITY
  return ({ message }: Error): boolean => {
    const nowMs = performance.now()
    if (!isFromWrongServer(message) || nowMs - leftAtMs < leaveEveryMs) return false
    leftAtMs = nowMs
    return true
  }
}

const leaveEveryMs = 500

/** The shortest time in which a server far away can be connected to. */
const shortestConnectMs = 1000
/** Deadlines after which a connection that is silent, and owes a reply, is left for a new one. */
const deadDeadlines = 2

/** Resolves once commands can be sent. */
export const whenReady = (client: Client | Cluster): Promise<void> =>
  new Promise((resolve, reject) => {
    if (client.status === "ready") return resolve()
    let last: Error | undefined
    const hear = (error: Error) => {
      last = error
    }
    client.on("error", hear)
    const timer = setTimeout(() => {
      client.off("error", hear)
      reject(new Error(`Redis is not reachable${last === undefined ? "" : `: ${last.message}`}`))
    }, startMs)
    client.once("ready", () => {
      client.off("error", hear)
      clearTimeout(timer)
      resolve()
    })
  })

const startMs = 5000
