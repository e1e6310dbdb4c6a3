/** Puts something in the way of every call of a store. */
import { Effect } from "effect"
import { LedgerStore } from "../../src/money/ledger-store.ts"
import type { StoreUnavailable } from "../../src/store/unavailable.ts"

export type Store = LedgerStore["Service"]

/** A call that can be made of any store. */
export type Call<A> = (store: Store) => Effect.Effect<A, StoreUnavailable>

export const mapCalls = (through: <A>(name: string, call: Call<A>) => Effect.Effect<A, StoreUnavailable>): Store =>
  LedgerStore.of({
    join: (...args) => through("join", (store) => store.join(...args)),
    renew: (...args) => through("renew", (store) => store.renew(...args)),
    leave: (...args) => through("leave", (store) => store.leave(...args)),
    allot: (...args) => through("allot", (store) => store.allot(...args)),
    giveBack: (...args) => through("giveBack", (store) => store.giveBack(...args)),
    settle: (...args) => through("settle", (store) => store.settle(...args)),
    checkpoint: (...args) => through("checkpoint", (store) => store.checkpoint(...args)),
    forbidCheckpoint: (...args) => through("forbidCheckpoint", (store) => store.forbidCheckpoint(...args)),
    release: (...args) => through("release", (store) => store.release(...args)),
    find: (...args) => through("find", (store) => store.find(...args)),
    requestState: (...args) => through("requestState", (store) => store.requestState(...args)),
    reap: Effect.suspend(() => through("reap", ({ reap }) => reap)),
    topup: (...args) => through("topup", (store) => store.topup(...args)),
    isTopup: (...args) => through("isTopup", (store) => store.isTopup(...args)),
    balance: (...args) => through("balance", (store) => store.balance(...args)),
    budgetCounters: (...args) => through("budgetCounters", (store) => store.budgetCounters(...args)),
    adjust: (...args) => through("adjust", (store) => store.adjust(...args)),
    used: (...args) => through("used", (store) => store.used(...args)),
  })
