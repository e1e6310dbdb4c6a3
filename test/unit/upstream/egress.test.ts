/** The egress guard: addresses and tricks, and that a connection goes to the address that was checked. */
import { createSocket, type Socket } from "node:dgram"
import { Resolver } from "node:dns/promises"
import { createServer, type Server } from "node:https"
import { rootCertificates, setDefaultCACertificates } from "node:tls"
import { Context, Effect, Layer, Result } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parseNetwork } from "../../../src/protocol/values/network.ts"
import { portOf } from "../../../src/testing/port.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { fetchWhole, VendorClient } from "../../../src/upstream/client.ts"
import { checkTarget, Egress, EgressBlocked, makeEgressGuard, ResolveHost } from "../../../src/upstream/egress.ts"
import { certificate, privateKey } from "../../support/certificate.ts"

const noDns = () => Promise.reject(new Error("no name was to be resolved"))
const guard = makeEgressGuard([], noDns)
const reasonOf = (url: string, checked = guard.check(url)) =>
  Result.isFailure(checked) ? checked.failure.reason : "passes"

describe("URLs that name an address", () => {
  it.each([
    // IPv4: private, loopback, link-local, metadata, special, multicast, reserved.
    "https://10.0.0.1",
    "https://10.255.255.255",
    "https://172.16.0.1",
    "https://172.31.255.254",
    "https://192.168.0.1",
    "https://192.168.255.255",
    "https://127.0.0.1",
    "https://127.255.255.254",
    "https://0.0.0.0",
    "https://0.1.2.3",
    "https://100.64.0.1",
    "https://100.127.255.254",
    "https://100.100.100.200",
    "https://169.254.169.254",
    "https://169.254.170.2",
    "https://169.254.0.1",
    "https://192.0.0.192",
    "https://192.0.2.1",
    "https://192.88.99.1",
    "https://198.18.0.1",
    "https://198.19.255.255",
    "https://198.51.100.1",
    "https://203.0.113.1",
    "https://224.0.0.1",
    "https://239.255.255.250",
    "https://240.0.0.1",
    "https://255.255.255.255",
    // The same in other notations.
    "https://2130706433",
    "https://0x7f000001",
    "https://0177.0.0.1",
    "https://0x7f.1",
    "https://127.1",
    "https://127.0.1",
    "https://2852039166",
    "https://0xa9fea9fe",
    "https://0251.0376.0251.0376",
    "https://169.254.43518",
    "https://①②⑦.⓪.⓪.①",
    "https://127。0。0。1",
    "https://127.0.0.1.",
    "https://127.0.0.1:443",
    "https://127.0.0.1:8443/v1",
    "https://%31%32%37.0.0.1",
    // IPv6: loopback, unspecified, private, link-local, multicast, documentation, discard.
    "https://[::1]",
    "https://[::]",
    "https://[0:0:0:0:0:0:0:1]",
    "https://[fc00::1]",
    "https://[fd00:ec2::254]",
    "https://[fdff:ffff::1]",
    "https://[fe80::1]",
    "https://[febf::1]",
    "https://[fec0::1]",
    "https://[ff02::1]",
    "https://[100::1]",
    "https://[2001:db8::1]",
    "https://[3fff::1]",
    "https://[5f00::1]",
    // IPv4 inside IPv6: mapped, compatible, translated, NAT64, local NAT64, 6to4, Teredo, ISATAP.
    "https://[::ffff:127.0.0.1]",
    "https://[::ffff:7f00:1]",
    "https://[::ffff:169.254.169.254]",
    "https://[0:0:0:0:0:ffff:0a00:0001]",
    "https://[::127.0.0.1]",
    "https://[::ffff:0:127.0.0.1]",
    "https://[64:ff9b::127.0.0.1]",
    "https://[64:ff9b::a9fe:a9fe]",
    "https://[64:ff9b:1::10.0.0.1]",
    "https://[2002:7f00:1::]",
    "https://[2002:a9fe:a9fe::1]",
    "https://[2001:0:7f00:1::]",
    "https://[2001::a9fe:a9fe]",
    "https://[2606:4700::5efe:10.0.0.1]",
    "https://[2606:4700:0:1:200:5efe:127.0.0.1]",
  ])("%s is refused", (url) => {
    expect(reasonOf(url)).toBe("address")
  })

  it.each([
    "https://1.1.1.1",
    "https://8.8.8.8:8443/v1",
    "https://100.63.255.255",
    "https://100.128.0.1",
    "https://172.15.255.255",
    "https://172.32.0.1",
    "https://192.0.1.1",
    "https://169.253.255.255",
    "https://223.255.255.255",
    "https://[2606:4700:4700::1111]",
    "https://[2a00:1450:4001:830::200e]",
    "https://[2001:4860:4860::8888]",
  ])("%s passes", (url) => {
    expect(reasonOf(url)).toBe("passes")
  })

  it.each([
    ["http://example.com", "not_https"],
    ["http://127.0.0.1", "not_https"],
    ["ftp://example.com", "not_https"],
    ["file:///etc/passwd", "not_https"],
    ["gopher://127.0.0.1:6379/_FLUSHALL", "not_https"],
    ["data:text/plain,x", "not_https"],
    ["javascript:alert(1)", "not_https"],
    ["https://user@example.com", "credentials"],
    ["https://user:password@127.0.0.1", "credentials"],
    ["https://example.com@127.0.0.1", "credentials"],
    ["https://example.com/?next=x", "url"],
    ["https://example.com/#x", "url"],
    ["https://", "url"],
    ["//example.com", "url"],
    ["example.com", "url"],
    ["", "url"],
    ["https://[fe80::1%25eth0]", "url"],
    ["https://127.0.0.1 .example.com", "url"],
    ["https://999.999.999.999", "url"],
  ])("%s is refused as %s", (url, reason) => {
    expect(reasonOf(url)).toBe(reason)
  })

  it("allowed networks pass, and nothing else", () => {
    const allowed = makeEgressGuard(
      [parseNetwork("10.1.0.0/16")].filter((network) => network !== undefined),
      noDns,
    )
    expect(reasonOf("", allowed.check("https://10.1.2.3"))).toBe("passes")
    expect(reasonOf("", allowed.check("https://[::ffff:10.1.2.3]"))).toBe("passes")
    expect(reasonOf("", allowed.check("https://10.2.0.1"))).toBe("address")
    expect(reasonOf("", allowed.check("http://10.1.2.3"))).toBe("not_https")
  })
})

describe("names", () => {
  const resolving = (...addresses: ReadonlyArray<string>) => makeEgressGuard([], () => Promise.resolve(addresses))
  const outcome = (guarded: ReturnType<typeof makeEgressGuard>) =>
    guarded.resolve("upstream.test").catch((error) => (error instanceof EgressBlocked ? error.reason : error))

  it.each([
    [["93.184.216.34"], ["93.184.216.34"]],
    [
      ["93.184.216.34", "2606:4700::1"],
      ["93.184.216.34", "2606:4700::1"],
    ],
    [["127.0.0.1"], "address"],
    [["93.184.216.34", "10.0.0.1"], "address"],
    [["2606:4700::1", "::ffff:169.254.169.254"], "address"],
    [["::1"], "address"],
    [["not an address"], "address"],
    [["fe80::1%eth0"], "address"],
    [[], "unresolved"],
  ])("that resolve to %j: %j", async (addresses, expected) => {
    expect(await outcome(resolving(...addresses))).toEqual(expected)
  })

  it.each([
    ["http://hooks.test/", "The address is not allowed: it is not HTTPS"],
    ["https://127.0.0.1/", "The address is not allowed: it is private or special"],
  ])("that are set and refused have the reason in the error: %s", async (url, message) => {
    await expect(Effect.runPromise(checkTarget(guard, url))).rejects.toMatchObject({ message })
  })

  it("are not resolved where they are addresses", async () => {
    expect(await guard.resolve("1.1.1.1")).toEqual(["1.1.1.1"])
    await expect(guard.resolve("127.0.0.1")).rejects.toBeInstanceOf(EgressBlocked)
  })

  it("of this machine are refused", async () => {
    const system = makeEgressGuard([], Context.get(Context.empty(), ResolveHost))
    await expect(system.resolve("localhost")).rejects.toBeInstanceOf(EgressBlocked)
  })
})

/** A name server whose answers change from one query to the next. */
const startNameServer = (answers: ReadonlyArray<string>) => {
  const asked = { count: 0 }
  const socket: Socket = createSocket("udp4")
  socket.on("message", (question, peer) => {
    const answer = answers[Math.min(asked.count++, answers.length - 1)] ?? ""
    const header = Buffer.from(question.subarray(0, 12))
    header.writeUInt16BE(0x8180, 2)
    header.writeUInt16BE(1, 6)
    header.writeUInt16BE(0, 10)
    // The question, then one A record that points back at its name, with a TTL of zero.
    const end = question.indexOf(0, 12) + 5
    const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...answer.split(".").map(Number)])
    socket.send(Buffer.concat([header, question.subarray(12, end), record]), peer.port, peer.address)
  })
  return new Promise<{
    readonly asked: { readonly count: number }
    readonly resolve: (host: string) => Promise<ReadonlyArray<string>>
    readonly close: () => void
  }>((resolve) => {
    socket.bind(0, "127.0.0.1", () => {
      const resolver = new Resolver()
      resolver.setServers([`127.0.0.1:${socket.address().port}`])
      resolve({ asked, resolve: (host) => resolver.resolve4(host), close: () => socket.close() })
    })
  })
}

describe("DNS rebinding, over a real name server, a real socket and TLS", () => {
  const seen: Array<string> = []
  const startServer = (address: string, port: number) =>
    new Promise<Server>((resolve, reject) => {
      const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
        seen.push(`${address} ${request.headers["authorization"]}`)
        response.writeHead(200, { "content-type": "application/json", connection: "close" }).end("{}")
      })
      server.once("error", reject).listen(port, address, () => resolve(server))
    })
  /** Both listen at one port: the one that is free at the first address may be taken at the second. */
  const startBoth = async (attempts: number): Promise<readonly [Server, Server]> => {
    const first = await startServer("127.0.0.2", 0)
    const second = await startServer("127.0.0.1", portOf(first)).catch((cause: unknown) => {
      first.close()
      if (attempts === 1) throw cause
      return undefined
    })
    return second === undefined ? startBoth(attempts - 1) : [first, second]
  }
  let good: Server
  let trap: Server
  let port = 0
  beforeAll(async () => {
    setDefaultCACertificates([...rootCertificates, certificate])
    // 127.0.0.2 represents a public address and is allowed here; 127.0.0.1 stays private.
    ;[good, trap] = await startBoth(20)
    port = portOf(good)
  })
  afterAll(() => {
    good.close()
    trap.close()
  })

  const call = (resolveHost: (host: string) => Promise<ReadonlyArray<string>>, host = "upstream.test") => {
    const allowed = [parseNetwork("127.0.0.2")].filter((network) => network !== undefined)
    const egress = Layer.succeed(Egress, Egress.of(makeEgressGuard(allowed, resolveHost)))
    const request = {
      baseUrl: `https://${host}:${port}/v1`,
      path: "/x",
      headers: { authorization: "own" },
      body: "{}",
      isGuarded: true,
    }
    return Effect.gen(function* () {
      const client = yield* VendorClient
      const once = fetchWhole(client, request, 1024).pipe(
        Effect.map(({ status }) => String(status)),
        Effect.catch(({ cause }) => Effect.succeed(cause instanceof EgressBlocked ? cause.reason : String(cause))),
      )
      return [yield* once, yield* once]
    }).pipe(Effect.provide(VendorClient.layer.pipe(Layer.provide([egress, layerTestConfig()]))), Effect.runPromise)
  }

  it("the connection goes to the address that was checked; the next one is checked anew", async () => {
    const names = await startNameServer(["127.0.0.2", "127.0.0.1"])
    seen.length = 0
    expect(await call(names.resolve)).toEqual(["200", "address"])
    // One query for a connection: there is no second lookup between the check and the connection.
    expect(names.asked.count).toBe(2)
    expect(seen).toEqual(["127.0.0.2 own"])
    names.close()
  })

  it("a name that resolves to a private address is never connected to", async () => {
    const names = await startNameServer(["127.0.0.1"])
    seen.length = 0
    expect(await call(names.resolve)).toEqual(["address", "address"])
    expect(seen).toEqual([])
    names.close()
  })

  it("an IP address in the URL is checked without a lookup", async () => {
    seen.length = 0
    expect(await call(noDns, "127.0.0.1")).toEqual(["address", "address"])
    expect(await call(noDns, "127.0.0.2")).toEqual(["200", "200"])
    expect(seen).toEqual(["127.0.0.2 own", "127.0.0.2 own"])
  })

  it("a name that does not resolve is a failed connection", async () => {
    const [outcome] = await call(() => Promise.reject(new Error("ENOTFOUND")))
    expect(outcome).toContain("ENOTFOUND")
  })
})
