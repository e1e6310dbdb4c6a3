/**
 * How many exchanges a process can have open, by what its machine gives it: open files and ephemeral ports. Source:
 * HAProxy's `maxconn`, which is worked out from the limit of open files.
 */
import { readdirSync, readFileSync } from "node:fs"

export interface Machine {
  /** Open files that the process may have; undefined if it is not known. */
  readonly maxFiles: number | undefined
  readonly openFiles: number
  /** Ports for connections to vendors; undefined if it is not known. */
  readonly ports: number | undefined
}

export type CapacityLimit = "configured" | "files" | "ports"

export interface Capacity {
  readonly exchanges: number
  /** What allows no more. */
  readonly by: CapacityLimit
  /** Connections of clients, so that files are left for vendors; undefined without a known limit. */
  readonly connections: number | undefined
}

/** Files for operators, logs, and what is opened now and then. */
const spareFiles = 32
/** An exchange takes two files, its client's and its vendor's; a fifth of them is for callers that are refused. */
const exchangesPerFile = 0.4
const portShare = 0.8

/** @param configured the operator's limit @param storeFiles files that stores will take beside those that are open */
export const capacityOf = (
  { maxFiles, openFiles, ports }: Machine,
  { configured, storeFiles }: { readonly configured: number; readonly storeFiles: number },
): Capacity => {
  const freeFiles = maxFiles === undefined ? undefined : Math.max(5, maxFiles - openFiles - storeFiles - spareFiles)
  const limits: ReadonlyArray<readonly [CapacityLimit, number]> = [
    ["configured", configured],
    ["files", freeFiles === undefined ? Number.POSITIVE_INFINITY : Math.floor(freeFiles * exchangesPerFile)],
    ["ports", ports === undefined ? Number.POSITIVE_INFINITY : Math.floor(ports * portShare)],
  ]
  const [by, exchanges] = limits.reduce((least, limit) => (limit[1] < least[1] ? limit : least))
  return { exchanges, by, connections: freeFiles === undefined ? undefined : freeFiles - exchanges }
}

/** The limits of this process and its machine, as Linux tells them. */
export const readMachine = (): Machine => ({
  maxFiles: numberIn("/proc/self/limits", /^Max open files\s+(\d+)/m),
  openFiles: countOf("/proc/self/fd"),
  ports: portsIn(read("/proc/sys/net/ipv4/ip_local_port_range")),
})

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
