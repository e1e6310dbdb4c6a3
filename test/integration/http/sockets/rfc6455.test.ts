/**
 * Frames of clients, right and wrong: the cases of the Autobahn test suite (crossbario/autobahn-testsuite, its numbers in
 * brackets) against the sockets of a gateway, which answer each text with one. Binary messages are refused by both.
 */
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { startGateway, type TestGateway } from "../../../../src/testing/gateway.ts"
import { closeOf, converse, type FrameOptions, frameOf, opcodes } from "../../../support/raw-socket.ts"

const scope = Scope.makeUnsafe()
let gateway: TestGateway
beforeAll(async () => {
  gateway = await Effect.runPromise(Scope.provide(startGateway({}), scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const part: FrameOptions = { isFinal: false }
const text = (payload: string | Buffer = "Hello, world!", options?: FrameOptions) =>
  frameOf(opcodes.text, payload, options)
const more = (payload: string | Buffer = "", options?: FrameOptions) => frameOf(opcodes.continuation, payload, options)
const ping = (payload: string | Buffer = "", options?: FrameOptions) => frameOf(opcodes.ping, payload, options)
const pong = (payload: string | Buffer = "", options?: FrameOptions) => frameOf(opcodes.pong, payload, options)
const bytewise = (payload: Buffer) => [
  text(payload.subarray(0, 1), part),
  ...Array.from(payload.subarray(1), (_, at) =>
    more(payload.subarray(at + 1, at + 2), { isFinal: at + 2 === payload.length }),
  ),
]
const hostile = Buffer.from("00fffefdfcfb00ff", "hex")
const longest = Buffer.alloc(125, 0xfe)

/** The frames before the client closes with 1000, or before the gateway closes with a code. */
interface Case {
  readonly sent: ReadonlyArray<Buffer>
  readonly texts?: number
  readonly pongs?: ReadonlyArray<string | Buffer>
  readonly closed?: number
  readonly inPiecesOf?: number
}

const protocolError = 1002
const invalidText = 1007

const cases: Readonly<Record<string, Case>> = {
  "a text of no bytes [1.1.1, 6.1.1]": { sent: [text("")], texts: 1 },
  "texts of 125 to 128 bytes [1.1.2 to 1.1.5]": {
    sent: [125, 126, 127, 128].map((size) => text("*".repeat(size))),
    texts: 4,
  },
  "texts of 65,535 and 65,536 bytes [1.1.6, 1.1.7]": {
    sent: [text("*".repeat(65_535)), text("*".repeat(65_536))],
    texts: 2,
  },
  "a text of 65,536 bytes in reads of 997 [1.1.8]": { sent: [text("*".repeat(65_536))], texts: 1, inPiecesOf: 997 },
  "a binary message [1.2]": { sent: [frameOf(opcodes.binary, hostile)], closed: 1003 },
  "a ping [2.1]": { sent: [ping()], pongs: [""] },
  "pings with texts, bytes, and 125 of them [2.2 to 2.4]": {
    sent: [ping("Hello"), ping(hostile), ping(longest)],
    pongs: ["Hello", hostile, longest],
  },
  "a ping of 126 bytes [2.5]": { sent: [ping(Buffer.alloc(126, 0xfe))], closed: protocolError },
  "a ping byte by byte [2.6]": { sent: [ping(longest)], pongs: [longest], inPiecesOf: 1 },
  "pongs that nobody asked for, and a ping [2.7 to 2.9]": {
    sent: [pong(), pong("unsolicited"), ping("p")],
    pongs: ["p"],
  },
  "ten pings, byte by byte [2.10, 2.11]": {
    sent: Array.from({ length: 10 }, (_, at) => ping(`payload-${at}`)),
    pongs: Array.from({ length: 10 }, (_, at) => `payload-${at}`),
    inPiecesOf: 1,
  },
  "a continued ping [5.1]": { sent: [ping("1", part), more("2")], closed: protocolError },
  "a continued pong [5.2]": { sent: [pong("1", part), more("2")], closed: protocolError },
  "two parts [5.3, 5.4]": { sent: [text("1", part), more("2")], texts: 1 },
  "two parts, byte by byte [5.5]": { sent: [text("1", part), more("2")], texts: 1, inPiecesOf: 1 },
  "a ping between parts [5.6 to 5.8]": { sent: [text("1", part), ping("p"), more("2")], texts: 1, pongs: ["p"] },
  "five parts with pings [5.19, 5.20]": {
    sent: [text("1", part), more("2", part), ping("a"), more("3", part), more("4", part), ping("b"), more("5")],
    texts: 1,
    pongs: ["a", "b"],
  },
  "a continuation of nothing [5.9 to 5.11]": { sent: [more("1"), text()], closed: protocolError },
  "an open continuation of nothing [5.12 to 5.14]": { sent: [more("1", part), text()], closed: protocolError },
  "a continuation of a text that was whole [5.15]": {
    sent: [text("1", part), more("2"), more("3", part), text()],
    texts: 1,
    closed: protocolError,
  },
  "continuations of nothing before texts [5.16, 5.17]": {
    sent: [more("1"), text("2", part), more("3")],
    closed: protocolError,
  },
  "a text inside a text [5.18]": { sent: [text("1", part), text("2")], closed: protocolError },
  "three parts of nothing [6.1.2]": { sent: [text("", part), more("", part), more()], texts: 1 },
  "a part between two of nothing [6.1.3]": { sent: [text("", part), more("m", part), more()], texts: 1 },
  "characters in one part, in two, and cut anywhere [6.2]": {
    sent: [
      text("Hello-µ@ßöäüàá-UTF-8!!"),
      text("Hello-µ@ßöä", part),
      more("üàá-UTF-8!!"),
      ...bytewise(Buffer.from("Hello-µ@ßöäüàá-UTF-8!!")),
      ...bytewise(Buffer.from("κόσμε")),
    ],
    texts: 4,
  },
  "no characters, byte by byte [6.3.2]": {
    sent: bytewise(Buffer.from("cebae1bdb9cf83cebcceb5eda080656469746564", "hex")),
    closed: invalidText,
  },
  "no character in the second of three parts [6.4]": {
    sent: [text("κόσμε", part), more(Buffer.from("f4908080", "hex"), part), more("edited")],
    closed: invalidText,
  },
  "a text that is not masked (RFC 6455, 5.1)": { sent: [text("{}", { isMasked: false })], closed: protocolError },
  "a length that no message has (RFC 6455, 5.2)": {
    sent: [Buffer.from("81ffffffffffffffffff00000000", "hex")],
    closed: 1009,
  },
  "a length with its highest bits set below 2^53": {
    sent: [Buffer.from("81ff001fffffffffffff00000000", "hex")],
    closed: 1009,
  },
  "a message beyond the limit, in parts of 64 KiB [9.4]": {
    sent: [
      text("*".repeat(65_536), part),
      ...Array.from({ length: 16 }, () => more("*".repeat(65_536), part)),
      more("*"),
    ],
    closed: 1009,
  },
  "a message of the limit, in parts of 4 KiB [9.3]": {
    sent: [
      text("*".repeat(4096), part),
      ...Array.from({ length: 254 }, () => more("*".repeat(4096), part)),
      more("*".repeat(4096)),
    ],
    texts: 1,
  },
}

/** Reserved bits, alone and after a text that is answered; nothing after them is. */
const reserved: Readonly<Record<string, Case>> = Object.fromEntries(
  [1, 2, 3, 4, 5, 6, 7].flatMap((bits) =>
    [opcodes.text, opcodes.ping, opcodes.close].map((opcode) => [
      `reserved bits ${bits} of opcode ${opcode} [3]`,
      { sent: [text(), frameOf(opcode, "", { reserved: bits }), ping("late")], texts: 1, closed: protocolError },
    ]),
  ),
)

const unknown: Readonly<Record<string, Case>> = Object.fromEntries(
  [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => [
    `opcode ${opcode} [4]`,
    { sent: [text(), frameOf(opcode, "reserved"), ping("late")], texts: 1, closed: protocolError },
  ]),
)

/** The bytes that are and are not UTF-8, of Autobahn's 6.5 to 6.23. */
const valid = [
  ...[
    "68656c6c6f24776f726c64",
    "68656c6c6fc2a2776f726c64",
    "68656c6c6fe282ac776f726c64",
    "68656c6c6ff0a4ada2776f726c64",
  ],
  ...["00", "c280", "e0a080", "f0908080", "7f", "dfbf", "efbfbf", "f48fbfbf", "ed9fbf", "ee8080", "efbfbd", "efbfbe"],
  ...["f09fbfbe", "f3bfbfbf", "f48fbfbe", "efbfb9", "efbfbc"],
]
const invalid = [
  ...["ce", "cebae1", "cebae1bd", "f888808080", "fc8480808080", "f7bfbfbf", "fbbfbfbfbf", "fdbfbfbfbfbf", "f4908080"],
  ...[
    "80",
    "bf",
    "80bf",
    "80bf80",
    "80bf80bf80bf",
    "c020c120",
    "e020e120",
    "f020f120",
    "f820f920",
    "fc20",
    "c0",
    "e080",
  ],
  ...["f08080", "f8808080", "df", "efbf", "f7bfbf", "fe", "ff", "fefeffff", "c0af", "e080af", "f08080af", "f8808080af"],
  ...["c1bf", "e09fbf", "f08fbfbf", "c080", "e08080", "eda080", "edadbf", "edbfbf", "eda080edb080", "edafbfedbfbf"],
]

/** The gateway gives the client's code back where it is one. */
const endings: ReadonlyArray<readonly [name: string, sent: ReadonlyArray<Buffer>, closed: number]> = [
  ["once [7.1.1, 7.3.3]", [closeOf(1000)], 1000],
  ["twice [7.1.2]", [closeOf(1000), closeOf()], 1000],
  ["before a ping, which has no pong [7.1.3]", [closeOf(1000), ping("late")], 1000],
  ["before a text, which has no answer [7.1.4]", [closeOf(1000), text()], 1000],
  ["in a text [7.1.5]", [text("1", part), closeOf(1000), more("2")], 1000],
  ["without a code [7.3.1]", [closeOf()], 1005],
  ["with half a code [7.3.2]", [frameOf(opcodes.close, "a")], protocolError],
  ["with a reason of 123 bytes [7.3.4, 7.3.5]", [closeOf(1000, "*".repeat(123))], 1000],
  ["with a reason of 124 bytes [7.3.6]", [closeOf(1000, "*".repeat(124))], protocolError],
  ["with a reason that is no text [7.5.1]", [closeOf(1000, Buffer.from("cebaeda080", "hex"))], invalidText],
  ...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].map(
    (code) => [`with ${code} [7.7]`, [closeOf(code)], code] as const,
  ),
  ...[0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65_535].map(
    (code) => [`with ${code}, which is none [7.9, 7.13]`, [closeOf(code)], protocolError] as const,
  ),
]

describe.each(["/t1/socket", "/openai/v1/responses"])("%s", (path) => {
  const headers = (): Readonly<Record<string, string>> =>
    path.startsWith("/t1")
      ? { "x-svc-key-id": gateway.keyId, "x-svc-key": gateway.key }
      : { authorization: `Bearer ${gateway.keyId}~${gateway.key}` }
  const speak = (conversation: Parameters<typeof converse>[2], more: Readonly<Record<string, string>> = {}) =>
    converse(`${gateway.baseUrl}${path}`, { ...headers(), ...more }, conversation)

  it.each(Object.entries({ ...cases, ...reserved, ...unknown }))("%s", async (_, each) => {
    const { sent, texts = 0, pongs = [], closed, inPiecesOf } = each
    const heard = await speak({
      sent,
      ...(inPiecesOf !== undefined && { inPiecesOf }),
      ...(closed === undefined && { next: { after: texts + pongs.length, sent: closeOf(1000) } }),
    })
    expect(heard.head).toMatch(/^HTTP\/1\.1 101 /)
    expect(heard).toMatchObject({
      pongs: pongs.map((payload) => Buffer.from(payload).toString("latin1")),
      closed: closed ?? 1000,
    })
    expect(heard.texts).toHaveLength(texts)
  })

  it.each(valid)("takes the characters %s [6]", async (hex) => {
    const next = { after: 1, sent: closeOf(1000) }
    expect(await speak({ sent: [text(Buffer.from(hex, "hex"))], next })).toMatchObject({ closed: 1000 })
  })

  it.each(invalid)("ends for the bytes %s [6]", async (hex) => {
    const heard = await speak({ sent: [text(Buffer.from(hex, "hex")), text()] })
    expect(heard).toMatchObject({ texts: [], closed: invalidText })
  })

  it.each(endings)("is closed %s", async (_, sent, closed) => {
    expect(await speak({ sent })).toMatchObject({ texts: [], pongs: [], closed })
  })

  // Slow because it waits: the gateway does so for five seconds.
  it("cuts a client that does not end the connection when it is told to", async () => {
    const begunMs = Date.now()
    expect(await speak({ sent: [frameOf(opcodes.binary, hostile)], staysOpen: true })).toMatchObject({ closed: 1003 })
    expect(Date.now() - begunMs).toBeGreaterThan(4000)
    expect(Date.now() - begunMs).toBeLessThan(20_000)
  })

  it("takes no compression, and refuses what is compressed [12, 13]", async () => {
    const offer = { "sec-websocket-extensions": "permessage-deflate; client_max_window_bits" }
    const heard = await speak({ sent: [text("Hello", { reserved: 4 })] }, offer)
    expect(heard.head).not.toMatch(/extensions/i)
    expect(heard).toMatchObject({ texts: [], closed: protocolError })
  })
})
