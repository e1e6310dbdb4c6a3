/**
 * Addresses of Redis: `redis://[user:password@]host[:port][/db]`, several of them, separated by commas, for a cluster, or
 * `redis-sentinel://[user:password@]host[:port],host[:port]/master-name[/db]`. TLS: `rediss://`, `rediss-sentinel://`.
 *
 * @see https://www.iana.org/assignments/uri-schemes/prov/redis
 */
import { Result } from "effect"

export interface RedisNode {
  readonly host: string
  readonly port: number
}

export interface RedisUrl {
  readonly nodes: ReadonlyArray<RedisNode>
  /** Whether there are several nodes, each with a part of the keys. */
  readonly isCluster: boolean
  /** The name of the master whose address Sentinels know; undefined if the nodes are not Sentinels. */
  readonly masterName: string | undefined
  readonly isTls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly sentinelUsername: string | undefined
  readonly sentinelPassword: string | undefined
  readonly db: number
}

/** @returns the parts of the text, or the error, which never contains the password */
export const parseRedisUrl = (text: string): Result.Result<RedisUrl, string> => {
  const scheme = /^(redis|rediss)(-sentinel)?:\/\//.exec(text)
  if (scheme === null)
    return Result.fail("it must begin with redis://, rediss://, redis-sentinel:// or rediss-sentinel://")
  const isTls = scheme[1] === "rediss"
  return scheme[2] === undefined ? parseServers(text, isTls) : parseSentinels(text.slice(scheme[0].length), isTls)
}

const parseServers = (text: string, isTls: boolean): Result.Result<RedisUrl, string> =>
  Result.gen(function* () {
    const all: Array<RedisUrl> = []
    for (const each of text.split(",")) all.push(yield* parseServer(each.trim(), isTls))
    const [first] = all
    if (first === undefined) return yield* Result.fail("it has no address")
    if (all.length > 1 && all.some(({ db }) => db !== 0)) return yield* Result.fail("a cluster has database 0 only")
    return { ...first, nodes: all.flatMap(({ nodes }) => nodes), isCluster: all.length > 1 }
  })

const parseServer = (text: string, isTls: boolean): Result.Result<RedisUrl, string> =>
  Result.gen(function* () {
    if (!text.startsWith(isTls ? "rediss://" : "redis://")) return yield* Result.fail("its addresses have one scheme")
    const url = URL.parse(text)
    if (url === null || url.hostname === "") return yield* Result.fail("an address is host or host:port")
    yield* allowOnly(url, [])
    const credentials = yield* credentialsOf(url)
    const db = yield* parseDatabase(url.pathname.slice(1))
    const nodes = [{ host: bare(url.hostname), port: url.port === "" ? defaultPort : Number(url.port) }]
    return { ...plain, ...credentials, nodes, isTls, db }
  })

/** `URL` knows no list of hosts: each is read as an address of its own. */
const parseSentinels = (rest: string, isTls: boolean): Result.Result<RedisUrl, string> =>
  Result.gen(function* () {
    const [, authority = "", tail = ""] = /^([^/?#]*)(.*)$/s.exec(rest) ?? []
    const [hosts = "", user = ""] = authority.split("@").reverse()
    const url = URL.parse(`redis://${user === "" ? "" : `${user}@`}sentinel${tail}`)
    const nodes = hosts.split(",").map((host) => URL.parse(`redis://${host.trim()}`))
    if (url === null || hosts === "") return yield* Result.fail("an address is host or host:port")
    yield* allowOnly(url, ["sentinelUsername", "sentinelPassword"])
    const credentials = yield* credentialsOf(url)
    const [masterName = "", db = "", ...more] = url.pathname.slice(1).split("/")
    if (masterName === "" || more.length > 0) {
      return yield* Result.fail("behind the Sentinels' addresses is the name of the master: /name or /name/db")
    }
    return {
      ...plain,
      ...credentials,
      nodes: yield* Result.all(
        nodes.map((node) =>
          node === null || node.hostname === "" || node.username !== "" || node.pathname !== ""
            ? Result.fail("an address is host or host:port")
            : Result.succeed({
                host: bare(node.hostname),
                port: node.port === "" ? defaultSentinelPort : Number(node.port),
              }),
        ),
      ),
      masterName: yield* decode(masterName),
      isTls,
      sentinelUsername: url.searchParams.get("sentinelUsername") ?? undefined,
      sentinelPassword: url.searchParams.get("sentinelPassword") ?? undefined,
      db: yield* parseDatabase(db),
    }
  })

const defaultPort = 6379
const defaultSentinelPort = 26_379

const plain = { isCluster: false, masterName: undefined, sentinelUsername: undefined, sentinelPassword: undefined }

/** A parameter that no code reads is a mistake, such as `ssl=true`, which would connect in plain text. */
const allowOnly = (url: URL, names: ReadonlyArray<string>): Result.Result<void, string> => {
  const unknown = [...url.searchParams.keys()].find((name) => !names.includes(name))
  return unknown === undefined ? Result.void : Result.fail(`the parameter ${JSON.stringify(unknown)} is unknown`)
}

const credentialsOf = (url: URL) =>
  Result.all({ username: decode(url.username), password: decode(url.password) }).pipe(
    Result.map(({ username, password }) => ({ username: username || undefined, password: password || undefined })),
  )

const parseDatabase = (text: string): Result.Result<number, string> =>
  /^\d{0,5}$/.test(text) ? Result.succeed(Number(text)) : Result.fail("the number of a database is a number")

const decode = (text: string): Result.Result<string, string> =>
  Result.try({ try: () => decodeURIComponent(text), catch: () => "a part is not percent-encoded" })

/** IPv6 addresses in URLs have brackets. */
const bare = (host: string): string => host.replace(/^\[|\]$/g, "")
