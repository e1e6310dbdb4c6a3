/** Proxies, authorities and client certificates: over real sockets, with a real proxy and real TLS. */
import { createServer as createPlainServer, type Server as PlainServer } from "node:http"
import { createServer, type Server } from "node:https"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { Effect, Layer, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { WeirConfig } from "../../../src/config.ts"
import type { NetworkFields } from "../../../src/protocol/catalogue/network.ts"
import { parseNetwork } from "../../../src/protocol/values/network.ts"
import { makeBypass, parseProxy } from "../../../src/protocol/values/proxy.ts"
import { portOf } from "../../../src/testing/port.ts"
import { fetchWhole, VendorClient } from "../../../src/upstream/client.ts"
import { Egress, EgressBlocked, makeEgressGuard } from "../../../src/upstream/egress.ts"
import { readNetwork } from "../../../src/upstream/network.ts"
import { authority, issued } from "../../support/certificate.ts"
import { openTunnel } from "../../support/tunnel.ts"

describe("a proxy's URL", () => {
  it.each([
    ["http://proxy:3128", false, "proxy", 3128, undefined],
    ["proxy:3128", false, "proxy", 3128, undefined],
    ["https://proxy.example.com", true, "proxy.example.com", 443, undefined],
    ["http://[::1]:3128/", false, "::1", 3128, undefined],
    ["http://ada:l%40ce@proxy", false, "proxy", 80, `Basic ${btoa("ada:l@ce")}`],
    ["http://ada@proxy", false, "proxy", 80, `Basic ${btoa("ada:")}`],
  ])("%s", (text, isSecure, host, port, authorization) => {
    expect(parseProxy(text)).toEqual({ isSecure, host, port, authorization })
  })

  it.each([
    "",
    "http://",
    "socks5://proxy:1080",
    "http://proxy:3128/path",
    "http://proxy:99999",
    "http://%ff@proxy",
    "a b",
  ])("%j is none", (text) => {
    expect(parseProxy(text)).toBeUndefined()
  })
})

describe("NO_PROXY", () => {
  it.each([
    ["example.com", "example.com", 443, true],
    ["example.com", "api.example.com", 443, true],
    ["example.com", "notexample.com", 443, false],
    [".example.com", "api.example.com", 443, true],
    ["*.example.com", "api.example.com", 443, true],
    ["EXAMPLE.com", "Example.COM.", 443, true],
    ["example.com:8443", "example.com", 8443, true],
    ["example.com:8443", "example.com", 443, false],
    ["10.0.0.0/8", "10.1.2.3", 443, true],
    ["10.0.0.0/8", "11.1.2.3", 443, false],
    ["[fd00::]/8 fd00::/8", "[fd00::1]", 443, true],
    ["192.0.2.1", "192.0.2.1", 443, true],
    ["a.test, b.test", "b.test", 443, true],
    ["*", "anything.test", 443, true],
    ["", "example.com", 443, false],
    ["", "localhost", 443, true],
    ["", "127.9.9.9", 443, true],
    ["", "[::1]", 443, true],
    [":443", "example.com", 443, false],
  ])("%j excludes %s:%i: %s", (noProxy, host, port, excluded) => {
    expect(makeBypass(noProxy)(host, port)).toBe(excluded)
  })
})

describe("calls", () => {
  /** The names that the vendor saw: the client's certificate and the name that it was called by. */
  let seen: Array<string> = []
  /** The addresses that the proxy was asked for. */
  let asked: Array<string> = []
  let refusal: number | undefined
  let vendor: Server
  let plainProxy: PlainServer
  let secureProxy: Server
  const sockets = new Set<Socket>()

  const tunnel = (server: PlainServer | Server) =>
    server.on("connect", (request, socket: Socket) => {
      sockets.add(socket)
      asked.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim())
      socket.on("error", () => {})
      if (refusal === 0) return
      if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 0\r\n\r\n`)
      // Names of tests are on this machine.
      const [, host = "", port] = /^(.*):(\d+)$/.exec(request.url ?? "") ?? []
      openTunnel(socket, /^[\d.]+$/.test(host) ? host : "127.0.0.1", Number(port))
    })

  const listening = <S extends PlainServer | Server>(server: S, host = "127.0.0.1") =>
    new Promise<S>((resolve) => server.listen(0, host, () => resolve(server)))

  beforeAll(async () => {
    const options = { ...issued.server, ca: authority, requestCert: true, rejectUnauthorized: false }
    vendor = await listening(
      createServer(options, ({ socket, headers }, response) => {
        const { subject } = socket instanceof TLSSocket ? socket.getPeerCertificate() : {}
        seen.push(`${headers.host?.split(":")[0]} ${subject?.CN ?? "nobody"}`)
        response.writeHead(200, { connection: "close" }).end("{}")
      }),
      "0.0.0.0",
    )
    plainProxy = await listening(createPlainServer())
    secureProxy = await listening(createServer(issued.server))
    tunnel(plainProxy)
    tunnel(secureProxy)
  })
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    for (const server of [vendor, plainProxy, secureProxy]) server.close()
  })

  interface Given {
    readonly fields?: NetworkFields
    readonly host?: string
    readonly httpsProxy?: string
    readonly noProxy?: string
    readonly isGuarded?: boolean
    readonly addresses?: ReadonlyArray<string>
    readonly secrets?: Readonly<Record<string, string>>
  }

  const call = (given: Given) => {
    seen = []
    asked = []
    const { fields = {}, host = "private.test", isGuarded = false, addresses = [], secrets = {} } = given
    const allowed = [parseNetwork("127.0.0.2")].filter((network) => network !== undefined)
    const guard = Egress.of(makeEgressGuard(allowed, async () => addresses))
    const proxy = given.httpsProxy === undefined ? undefined : parseProxy(given.httpsProxy)
    const config = WeirConfig.layerWith({
      httpsProxy: proxy && Redacted.make(proxy),
      noProxy: given.noProxy ?? "",
    })
    const request = {
      baseUrl: `https://${host}:${portOf(vendor)}/v1`,
      path: "/x",
      headers: {},
      body: "{}",
      isGuarded,
      network: readNetwork(fields, (ref) => secrets[ref]),
    }
    return Effect.gen(function* () {
      return yield* fetchWhole(yield* VendorClient, request, 1024).pipe(
        Effect.map(({ status }) => String(status)),
        Effect.catch(({ cause }) =>
          Effect.succeed(cause instanceof EgressBlocked ? cause.reason : cause instanceof Error ? cause.message : ""),
        ),
      )
    }).pipe(
      Effect.provide(VendorClient.layer.pipe(Layer.provide([Layer.succeed(Egress, guard), config]))),
      Effect.runPromise,
    )
  }

  const plain = () => `http://127.0.0.1:${portOf(plainProxy)}`
  const target = (host = "private.test") => `${host}:${portOf(vendor)}`
  const trusting = { ca: authority }

  it("a vendor's own proxy opens a tunnel, with the user and password of its reference", async () => {
    const secrets = { "env:PROXY": `http://ada:l%40ce@127.0.0.1:${portOf(plainProxy)}` }
    expect(await call({ fields: { proxy: "env:PROXY", tls: trusting }, secrets })).toBe("200")
    expect(asked).toEqual([`${target()} Basic ${btoa("ada:l@ce")}`])
    expect(seen).toEqual(["private.test nobody"])
  })

  it("HTTPS_PROXY is for all vendors, except for those of NO_PROXY, and those that say otherwise", async () => {
    const tls = trusting
    expect(await call({ fields: { tls }, httpsProxy: plain() })).toBe("200")
    expect(asked).toEqual([target()])
    expect(await call({ fields: { tls }, host: "localhost", httpsProxy: plain() })).toBe("200")
    expect(asked).toEqual([])
    expect(await call({ fields: { tls }, host: "127.0.0.2", httpsProxy: plain(), noProxy: "*" })).toBe("200")
    expect(asked).toEqual([])
    expect(await call({ fields: { tls, proxy: "none" }, httpsProxy: plain() })).toMatch(/ENOTFOUND|EAI_AGAIN/)
    expect(asked).toEqual([])
  })

  it("a proxy may be reached by TLS itself; its certificate is checked", async () => {
    const fields = { proxy: `https://127.0.0.1:${portOf(secureProxy)}`, tls: trusting }
    expect(await call({ fields })).toMatch(/^The proxy cannot be reached/)
    expect(seen).toEqual([])
  })

  it.each([407, 403, 502, 302])("a proxy that answers %i breaks the call", async (status) => {
    refusal = status
    expect(await call({ fields: { proxy: plain(), tls: trusting } })).toBe(`The proxy answered ${status}`)
    refusal = undefined
    expect(seen).toEqual([])
  })

  it("a proxy that is not there breaks the call", async () => {
    expect(await call({ fields: { proxy: "http://127.0.0.1:9", tls: trusting } })).toBe("The proxy cannot be reached")
  })

  it("an authority of its own is needed, and enough, for a certificate that nobody else issued", async () => {
    expect(await call({ host: "localhost" })).toMatch(/certificate/)
    expect(await call({ host: "localhost", fields: { tls: trusting } })).toBe("200")
  })

  it("a client certificate is shown, and its key may be a file or a variable", async () => {
    const secrets = { "env:CERT": issued.client.cert, "file:/run/key": issued.client.key }
    const tls = { ca: authority, cert: "env:CERT", key: "file:/run/key" }
    expect(await call({ host: "localhost", fields: { tls }, secrets })).toBe("200")
    expect(seen).toEqual(["localhost weir test client"])
  })

  describe("to an address that a user chose", () => {
    it("goes through the proxy to the address that was checked, without the vendor's certificate", async () => {
      const secrets = { "env:KEY": issued.client.key }
      const fields = { proxy: plain(), tls: { ca: authority, cert: issued.client.cert, key: "env:KEY" } }
      const outcome = await call({ fields, secrets, isGuarded: true, addresses: ["127.0.0.2"] })
      // The vendor's authority is not for it either.
      expect(outcome).toMatch(/certificate/)
      expect(asked).toEqual([target("127.0.0.2")])
      expect(seen).toEqual([])
    })

    it.each([{ proxy: "own" }, { proxy: "HTTPS_PROXY" }])(
      "never asks the $proxy for a private address",
      async ({ proxy }) => {
        const given = proxy === "own" ? { fields: { proxy: plain() } } : { httpsProxy: plain() }
        expect(await call({ ...given, isGuarded: true, addresses: ["10.0.0.1"] })).toBe("address")
        expect(await call({ ...given, isGuarded: true, addresses: ["127.0.0.2", "127.0.0.1"] })).toBe("address")
        expect(asked).toEqual([])
      },
    )
  })

  describe("with settings that cannot be used", () => {
    it.each<[string, NetworkFields, string]>([
      ["a proxy that is not set", { proxy: "env:NONE" }, "there is nothing at env:NONE"],
      ["a proxy that is no URL", { proxy: "env:WRONG" }, "its proxy is not a URL"],
      ["a key that is not set", { tls: { cert: issued.client.cert, key: "env:NONE" } }, "there is nothing at env:NONE"],
      ["a certificate without a key", { tls: { cert: issued.client.cert } }, "tls needs both cert and key, or neither"],
      [
        "a key of another certificate",
        { tls: { cert: issued.server.cert, key: "env:KEY" } },
        "its tls has no valid certificate and key in PEM",
      ],
      ["no PEM", { tls: { ca: "env:WRONG" } }, "its tls has no valid certificate and key in PEM"],
    ])("%s: no connection is made", async (_, fields, problem) => {
      const secrets = { "env:WRONG": "\u0000 no", "env:KEY": issued.client.key }
      expect(await call({ fields, secrets, httpsProxy: plain() })).toBe(problem)
      expect(asked).toEqual([])
      expect(seen).toEqual([])
    })
  })
})
