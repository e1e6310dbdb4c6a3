/** `weir login | me | invitations | logout`: logs a person in through a browser on any device. Source: RFC 8628. */
import { hostname } from "node:os"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Clock, Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { Device } from "../../protocol/api/device.ts"
import { Login } from "../../protocol/api/login.ts"
import type { Me, TokenReply } from "../../protocol/control/login.ts"
import { alone, type Credential, credentialFor, storeCredential } from "../credentials.ts"
import { table } from "../table.ts"
import { type ClientOf, clientOf, describeError, Failed, json, print, refusalOf, refused, url } from "../target.ts"

export const login = Command.make(
  "login",
  { url },
  Effect.fn(function* ({ url }) {
    const client = yield* clientOf(url, Device)
    const { deviceCode, userCode, verificationUriComplete, interval } = yield* client.device
      .deviceCode({ payload: { clientName: `weir on ${hostname()}`.slice(0, 128) } })
      .pipe(refused(url))
    yield* Console.log(`Open ${verificationUriComplete}\nand check that it shows the code ${userCode}`)
    const reply = yield* poll(client, url, deviceCode, interval)
    yield* keep(url, reply)
    yield* Console.log(`Logged in as ${reply.user.email}`)
  }),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

export const me = Command.make(
  "me",
  { url, json },
  Effect.fn(function* ({ url, json }) {
    const { client, headers } = yield* loggedIn(url)
    yield* print({ json }, yield* client.login.me({ headers }).pipe(refused(url)), describeMe)
  }),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

const org = Argument.String("org").pipe(Argument.withDescription("The organisation's id"))

const accept = Command.make(
  "accept",
  { org, url },
  Effect.fn(function* ({ org, url }) {
    const { client, headers } = yield* loggedIn(url)
    yield* client.login.acceptInvitation({ headers, params: { org } }).pipe(refused(url))
    yield* Console.log(`You are a member of ${org} now`)
  }),
).pipe(Command.withDescription("Accept an organisation's invitation"))

const decline = Command.make(
  "decline",
  { org, url },
  Effect.fn(function* ({ org, url }) {
    const { client, headers } = yield* loggedIn(url)
    yield* client.login.declineInvitation({ headers, params: { org } }).pipe(refused(url))
    yield* Console.log(`The invitation of ${org} is declined`)
  }),
).pipe(Command.withDescription("Decline an organisation's invitation"))

export const invitations = Command.make("invitations").pipe(
  Command.withSubcommands([accept, decline]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)

export const logout = Command.make(
  "logout",
  { url },
  Effect.fn(function* ({ url }) {
    const credential = credentialFor(url)
    if (credential === undefined) return yield* Console.log("Nobody is logged in")
    const client = yield* clientOf(url, Login)
    yield* client.login.logout({ payload: { refreshToken: credential.refreshToken } }).pipe(refused(url))
    storeCredential(url, undefined)
    yield* Console.log(`${credential.email} is logged out`)
  }),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

/** Polls at the allowed interval until somebody has decided. */
const poll = (
  client: ClientOf<typeof Device>,
  url: string,
  deviceCode: string,
  intervalS: number,
): Effect.Effect<TokenReply, Failed> =>
  Effect.sleep(intervalS * 1000).pipe(
    Effect.andThen(client.device.deviceToken({ payload: { deviceCode } })),
    Effect.catch((error) => {
      const code = refusalOf(error)?.code
      if (code === "device_code_pending") return poll(client, url, deviceCode, intervalS)
      if (code === "device_code_slow_down") return poll(client, url, deviceCode, intervalS + 5)
      return Effect.fail(new Failed(describeError(error, url)))
    }),
  )

/** Refreshes this long before the end: a call takes time too. */
const leewayMs = 30_000

/** A client with the access token of the logged-in person, refreshed if needed. */
const loggedIn = Effect.fnUntraced(function* (url: string) {
  const client = yield* clientOf(url, Login)
  const accessToken = yield* alone(
    Effect.gen(function* () {
      const known = credentialFor(url)
      if (known === undefined) return yield* Effect.fail(new Failed(`Nobody is logged in at ${url}: run weir login`))
      if (known.expiresAtMs - leewayMs > (yield* Clock.currentTimeMillis)) return known.accessToken
      const payload = { refreshToken: known.refreshToken }
      const reply = yield* client.login.refresh({ payload }).pipe(refused(url))
      return (yield* keep(url, reply)).accessToken
    }),
  )
  return { client, headers: { authorization: `Bearer ${accessToken}` } }
})

const keep = (url: string, { accessToken, refreshToken, expiresIn, user }: TokenReply) =>
  Effect.map(Clock.currentTimeMillis, (nowMs): Credential => {
    const credential = { email: user.email, accessToken, refreshToken, expiresAtMs: nowMs + expiresIn * 1000 }
    storeCredential(url, credential)
    return credential
  })

const describeMe = ({ user, orgs, invitations = [] }: Me): string =>
  [
    `${user?.email ?? "an organisation's own token"}${user === undefined ? "" : ` (${user.id})`}`,
    table(
      ["org", "name", "role", "teams"],
      orgs.map(({ id, name, role, teams }) => [id, name, role, teams.join(", ")]),
      "You are a member of no organisation yet. Ask an owner for an invitation",
    ),
    ...invitations.map(
      ({ id, name, role }) => `${name} invites you as ${role}: weir invitations accept ${id}, or decline ${id}`,
    ),
  ].join("\n")
