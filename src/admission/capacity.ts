/**
 * The number of exchanges that a process can have open, by the limits of its machine: open files, ephemeral ports and
 * memory. Source: HAProxy's `maxconn`, which is worked out from the limit of open files.
 */
import { readdirSync, readFileSync } from "node:fs"
import { heapLimitBytes, heapUsedBytes } from "../memory.ts"

export interface Machine {
  /** Open files that the process may have; undefined if it is not known. */
  readonly maxFiles: number | undefined
  readonly openFiles: number
  /** Ports for connections to vendors; undefined if it is not known. */
  readonly ports: number | undefined
  /** The bytes that the heap may still grow, or the container if it has less. */
  readonly freeBytes: number
}

export type CapacityLimit = "configured" | "files" | "ports" | "memory"

export interface Capacity {
  readonly exchanges: number
  /** The resource that sets the limit. */
  readonly by: CapacityLimit
  /** Connections of clients, so that files are left for vendors; undefined without a known limit. */
  readonly connections: number | undefined
}

/** Files for operators, logs, and files that are opened now and then. */
const spareFiles = 32
/** An exchange takes two files, its client's and its vendor's. */
const filesPerExchange = 2
/** Files for callers that are refused: a fifth, but no more than so many, because their connections are closed at once. */
const callerShare = 0.2
const maxCallers = 128
const portShare = 0.8
/**
 * The bytes that an exchange takes: its objects, a read of its vendor's socket, and the buffer of its client's socket.
 * Bytes that wait for slow clients beyond that have a limit of their own.
 */
const bytesPerExchange = 128 * 1024
/** The share of the memory that is free at the start; above it, calls are refused by the memory in use. */
const memoryShare = 0.8

/** @param configured the operator's limit @param storeFiles files that stores will take beside those that are open */
export const capacityOf = (
  { maxFiles, openFiles, ports, freeBytes }: Machine,
  { configured, storeFiles }: { readonly configured: number; readonly storeFiles: number },
): Capacity => {
  const freeFiles = maxFiles === undefined ? undefined : Math.max(5, maxFiles - openFiles - storeFiles - spareFiles)
  const limits: ReadonlyArray<readonly [CapacityLimit, number]> = [
    ["configured", configured],
    ["files", freeFiles === undefined ? Number.POSITIVE_INFINITY : exchangesOf(freeFiles)],
    ["ports", ports === undefined ? Number.POSITIVE_INFINITY : Math.floor(ports * portShare)],
    ["memory", Math.max(1, Math.floor((freeBytes * memoryShare) / bytesPerExchange))],
  ]
  const [by, exchanges] = limits.reduce((least, limit) => (limit[1] < least[1] ? limit : least))
  return { exchanges, by, connections: freeFiles === undefined ? undefined : freeFiles - exchanges }
}

const exchangesOf = (freeFiles: number): number =>
  Math.floor((freeFiles - Math.min(freeFiles * callerShare, maxCallers)) / filesPerExchange)

/** The limits of this process and its machine, as Linux reports them. */
export const readMachine = (): Machine => ({
  maxFiles: numberIn("/proc/self/limits", /^Max open files\s+(\d+)/m),
  openFiles: countOf("/proc/self/fd"),
  ports: portsIn(read("/proc/sys/net/ipv4/ip_local_port_range")),
  freeBytes: freeMemory(),
})

const freeMemory = (): number => {
  const ofHeap = heapLimitBytes - heapUsedBytes()
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(ofHeap, constrained - process.memoryUsage.rss()) : ofHeap
}

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

const numberIn = (path: string, pattern: RegExp): number | undefined => {
  const found = pattern.exec(read(path))?.[1]
  return found === undefined ? undefined : Number(found)
}

const countOf = (folder: string): number => {
  try {
    return readdirSync(folder).length
  } catch {
    return 0
  }
}

const portsIn = (text: string): number | undefined => {
  const [, first, last] = /(\d+)\s+(\d+)/.exec(text) ?? []
  return first === undefined || last === undefined ? undefined : Number(last) - Number(first) + 1
}
