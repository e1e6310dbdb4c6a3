/** Changes of critical lines, each of which a test must notice. A line is in its file once. */

export interface Edit {
  readonly file: string
  readonly from: string
  readonly to: string
}

const edits = (file: string, ...lines: ReadonlyArray<readonly [from: string, to: string]>): ReadonlyArray<Edit> =>
  lines.map(([from, to]) => ({ file, from, to }))

export const allEdits: ReadonlyArray<Edit> = [
  ...edits(
    "src/money/journal.ts",
    ["    fsyncSync(fd)\n  } catch", "  } catch"],
    ["    if (settlements.length > 0) write(settlements)\n    rmSync(path)", "    rmSync(path)"],
    ["line.slice(0, 16) === checksum(json)", "true"],
  ),
  ...edits(
    "src/money/ledger.ts",
    ["      end(facts, 0n, 0n, balance)", "      end(facts, cost, 0n, balance)"],
    ["    if (mayBeOpen) yield* store.release(facts)\n", "\n"],
    ["    if (!open.has(facts.ref)) return\n", "\n"],
    ['unit === "money" ? cost : tokens)', 'unit === "money" ? tokens : cost)'],
  ),
  ...edits(
    "src/money/allotments.ts",
    ["this.free >= amount &&", "this.free > amount &&"],
    ["this.free += amount - cost", "this.free += amount"],
    ["      allotment.free += owed\n", "\n"],
    ["      allotment.free -= owed\n", "\n"],
    ["return { counter, period, need: owed,", "return { counter, need: owed,"],
  ),
  ...edits(
    "src/money/granting.ts",
    ["Effect.sync(() => wasDone !== false && nodes.leave(node))", "Effect.void"],
    ["          if (error?.wasDone !== false) nodes.leave(node)\n", ""],
    ["of refused) allotment.free += amount", "of refused) allotment.free += 0n * amount"],
    ["    if (allotment.free >= chunk / 2n) return\n", "    return\n"],
    ["return { node: node.id, orgId, counter, period, amount,", "return { node: node.id, orgId, counter, amount,"],
  ),
  ...edits(
    "src/money/periods.ts",
    ["const since = (weekDay - first + 7) % 7", "const since = (weekDay - first + 8) % 7"],
    ["return atMs < starts(present)", "return atMs <= starts(present)"],
    ["atMs >= last.startMs && atMs < last.endMs", "atMs < last.endMs"],
    ["daysBefore(period.days - 1,", "daysBefore(period.days,"],
  ),
  ...edits(
    "src/money/budgets/budget.ts",
    [
      "if ((budget.subject ?? subject) === subject) known.set(covering.counter, covering)",
      "known.set(covering.counter, covering)",
    ],
    ['!isEndUser || budget.scope === "endUser"', "true"],
    ["used: shown(unit, limit + raised - available)", "used: shown(unit, available)"],
  ),
  ...edits(
    "src/calls/settle/settlement.ts",
    ["const estimate = hold.balance - due.charge.cost", "const estimate = hold.balance"],
    [
      "if (registration === undefined || finished === undefined || reply.hasMarks) return settlement",
      "if (registration !== undefined || finished === undefined || reply.hasMarks) return settlement",
    ],
    ["if (!isGood || policies", "if (isGood || policies"],
  ),
  ...edits("src/calls/settle/amount-due.ts", ["const full = isOwn ? free :", "const full = !isOwn ? free :"]),
  ...edits(
    "src/kinds/chat/bill.ts",
    ["  if (!done && !contentSeen) return undefined\n  const isFinal", "  const isFinal"],
    ["Math.max(reported.outTokens, estimated.outTokens)", "reported.outTokens"],
    ['if (count > limit) return "implausible"', 'if (count > limit * 2) return "implausible"'],
    ["Math.min(count, limitOf(name))", "count"],
  ),
  ...edits(
    "src/calls/vendor/vendor-call.ts",
    ["this.#clientIsSlow ? Number.POSITIVE_INFINITY : this.#idleDueMs(idle)", "this.#idleDueMs(idle)"],
    ['if (this.#bytes > maxErrorBytes) this.#end(this.#refusal(""))', ""],
    ["else if (isEnd) this.#end(disconnected())\n    else if (stream", "else if (stream"],
    ["    if (isWhole) this.#wire?.leave()\n    else this.#wire?.abort()", "    this.#wire?.leave()"],
    ['this.#connectedAtMs + ttfb]\n      case "body"', 'this.#startedAtMs + ttfb]\n      case "body"'],
  ),
  ...edits(
    "src/calls/vendor/target-loop.ts",
    ["if (isFinal || !mayAskAnother() || !isWorth", "if (!mayAskAnother() || !isWorth"],
    ["if (isFinal || !mayAskAnother() || !isWorth", "if (isFinal || !isWorth"],
    ["why === undefined ? Effect.void : health.coolDown(target.key, why, despite)", "Effect.void"],
    ["    despite = nextRound(errors, despite)\n", "    despite = undefined\n"],
    ["if (!isFinal && error._tag", "if (error._tag"],
  ),
  ...edits("src/calls/vendor/errors.ts", ["a.untilMs - b.untilMs", "b.untilMs - a.untilMs"]),
  ...edits(
    "src/calls/reply/reply.ts",
    ["    else if (!this.isFull) this.onRoom?.()", "    else this.onRoom?.()"],
    ["if (!this.#isGone && this.#buffer.unsentBytes() === 0) {", "if (!this.#isGone) {"],
  ),
  ...edits("src/admission/rates/memory-limits.ts", [
    "if (used + amount <= limit) continue",
    "if (used <= limit) continue",
  ]),
  ...edits(
    "src/admission/rates/sliding-window.ts",
    ["this.partAt(nowMs) - this.#kept\n", "this.partAt(nowMs) - this.#kept + 1\n"],
    ["const less = Math.min(amount, this.#counts[at] ?? 0)", "const less = amount + 1"],
  ),
  ...edits("src/admission/rates/ended.ts", ["used.uncached : used.all", "used.all : used.all"]),
  ...edits(
    "src/admission/rates/call-slots.ts",
    ["known === undefined || known.used >= known.held", "known === undefined"],
    ["if (known.asking > 0) continue\n", "\n"],
  ),
  ...edits(
    "src/admission/gate-memory.ts",
    ["if (record.payloadHash !== register.payloadHash) return Effect.fail(payloadConflict())\n", "\n"],
    ["if (request.nonce !== undefined) this.#nonces.set(nonceKey, now + nonceWindowMs)\n", "\n"],
    ["if (this.#isClaimed(key, registration.claim)) this.#records.delete(key)", "this.#records.delete(key)"],
  ),
  ...edits(
    "src/upstream/egress.ts",
    ['if (url.protocol !== "https:") return blocked("not_https")\n', "\n"],
    ["!isIn(closedV6, address) && !carriesIpv4(address)", "!isIn(closedV6, address)"],
    ['  "100.64.0.0/10",\n', ""],
  ),
  ...edits(
    "src/upstream/health.ts",
    ['(despite === "refused" && cooldown.cause === "refused")', 'despite === "refused"'],
    ["Math.min(askedMs, maxCooldownMs)", "askedMs"],
    ['if (verdict === "healthy") suspects.delete(target)\n', "\n"],
  ),
  ...edits(
    "src/store/seal.ts",
    [".setAAD(Buffer.from(context))\n    const encrypted", "\n    const encrypted"],
    ["keys.set(key.id, key)", "void key"],
  ),
  ...edits(
    "src/money/group-commit.ts",
    ["          for (const { resume } of entries) resume(noRow)\n", ""],
    ["entries.length > 1 && options.isItemFault(error)", "entries.length < 0"],
  ),
  ...edits(
    "src/kinds/realtime/session-money.ts",
    ["      for (const { hold } of outgrown) yield* this.#services.settler.release(hold)\n", "\n"],
    ["hold.amount >= need.amount && hold.day === today", "hold.amount >= need.amount"],
    ["    if (this.#running.has(id)) return true\n", "\n"],
    ["    this.#running.delete(id)\n", "\n"],
    ["    if (running?.leased !== undefined) this.#services.leased.remove(running.leased)\n", "\n"],
    ["      for (const { hold } of unused) yield* this.#services.settler.release(hold)\n", "\n"],
    ["usage !== undefined && isPlausible(plan, usage.counts)", "usage !== undefined"],
    ["    this.meter.ended(counted)\n", "\n"],
    ["target?.isOwn === true ? free : priceUsage", "priceUsage"],
    ["    this.promised = Math.max(0, this.promised - 1)\n", "\n"],
    ["        if (running.hold === undefined) this.#give(", "        if (running.hold !== undefined) this.#give("],
    ["        if (output.audioBytes + output.textBytes === 0) yield* this.#release(running)\n        else", "       "],
  ),
  ...edits(
    "src/kinds/realtime/meter.ts",
    ["    this.#transcripts = noTranscript\n    return {", "    return {"],
    ["this.#reported + text + audio + this.#images * imageTokens", "text + audio + this.#images * imageTokens"],
    ["    this.#audioSeconds = 0\n    this.#heardBefore", "    this.#heardBefore"],
    ["    this.#heardBeforeSeconds = this.#heardSeconds\n", "    this.#heardBeforeSeconds += this.#heardSeconds\n"],
  ),
  ...edits(
    "src/kinds/realtime/plan.ts",
    ["conversationTokens + turnTokens", "conversationTokens"],
    ["counts.outTokens <= most(maxOutTokens)", "true"],
  ),
  ...edits(
    "src/http/sockets/exchange-stream.ts",
    ["      if (this.#room !== undefined && this.#room <= 0) break\n", "\n"],
    [
      "    if (this.#held.length > 0) this.#atEnd = flushed\n    else this.#finish(flushed)",
      "    this.#finish(flushed)",
    ],
    ["    this.#ended()\n    this.gone()", "    this.#ended()"],
    ["this.#given + (mayGoOn ?", "(mayGoOn ?"],
    ["      this.#heldBytes -= bytes\n", "\n"],
  ),
  ...edits(
    "src/http/sockets/client-socket.ts",
    ["    if (!this.#isAlive) {\n      this.cut()\n      return\n    }\n", "\n"],
    ["      if (this.#takenAtPing === taken) this.cut()\n", "\n"],
    ["    if (this.#isPaused || this.#isFull) this.#ws.pause()", "    if (this.#isPaused) this.#ws.pause()"],
  ),
  ...edits("src/exports/closed-mark.ts", ["  while (!(yield* haveEnded)) yield* Effect.sleep(askEvery)\n", "\n"]),
  ...edits(
    "src/exports/next-window.ts",
    ["found !== undefined && found.place < mark.place", "false"],
    ["isBetween ? endBefore(found, at) : end", "end"],
  ),
  ...edits(
    "src/exports/window-rows.ts",
    ["    union all\n    select 'correction', -1,", "    union all\n    select 'correction', 1,"],
    ["and u.place = l.place and not (", "and u.place = l.place and ("],
    ["(u.place is null or u.place < ", "(u.place < "],
  ),
  ...edits(
    "src/exports/close-month.ts",
    ["  yield* stage(shard, next)\n", "\n"],
    ["at.getTime() < until_at.getTime() + marginMs", "at.getTime() < 0"],
    ["  if (problem !== null) return problem\n", "\n"],
  ),
  ...edits("src/object-storage/target.ts", [
    "      if (!isGood(status)) return yield* answered(status)\n    }),\n    get",
    "    }),\n    get",
  ]),
  ...edits(
    "src/webhooks/attempt.ts",
    ['return status === 410 ? "failed" : "again"', 'return "again"'],
    ["Math.min(attempts, waits.length) - 1", "Math.min(attempts, waits.length)"],
  ),
  ...edits(
    "src/money/ledger-items.ts",
    ["  let from = 1\n", "  let from = 0\n"],
    ["    from += part.length\n", "\n"],
    ["mayBeOpen: items.some((item) => item.mayBeOpen)", "mayBeOpen: false"],
  ),
  ...edits(
    "migrations/functions/books/retention.sql",
    [
      "  where c.ends_at < oldest::timestamp at time zone 'UTC'\n",
      "  where c.starts_at < oldest::timestamp at time zone 'UTC'\n",
    ],
    ["  where ends_at is null and counter like '%:%';\n", "  where false;\n"],
  ),
  ...edits(
    "migrations/functions/books/holds.sql",
    ["s.ref is not null and s.ref <> x.ref as is_duplicate", "s.ref is not null as is_duplicate"],
    ["    where not j.is_duplicate and j.job is null\n", "    where j.job is null\n"],
    ["    from judged where not is_duplicate and job is not null\n", "    from judged where job is not null\n"],
    ["b.at < clock_timestamp() - interval '15 seconds' or", "false or"],
    [
      "select * from judged where ref in (select b.ref from booked b union all select g.ref from begun g)",
      "select * from judged",
    ],
    ["    where job is null and to_timestamp(at / 1000) < now() - interval '5 minutes'\n", "    where false\n"],
    ["select org, cur, node, sum(cost) from charge group by", "select org, cur, node, -sum(cost) from charge group by"],
    ["'tokens:' || day, node, sum(tokens) from charge", "'tokens:' || day, node, sum((usage).in_tokens) from charge"],
    ["sum(case u.value when 'money' then c.cost else c.tokens end)\n    from charge", "sum(c.tokens)\n    from charge"],
    ["do update set spent = a.spent + excluded.spent\n  ), moved", "do nothing\n  ), moved"],
    ["    from charge where cost > 0\n  ), account", "    from charge where cost > 1\n  ), account"],
    ["c.funded - c.granted - o.cost + coalesce(", "c.funded - c.granted + coalesce("],
    [
      "select c.org, to_timestamp(c.at / 1000), c.ref, coalesce(c.told, a.balance)",
      "select c.org, to_timestamp(c.at / 1000), c.ref, a.balance",
    ],
    ["    where c.reply_from is not null\n  )", "    where false\n  )"],
    ["      if r.told is not null then\n", "      if false then\n"],
    ["      and h.state <> 'settled'\n    returning h.*", "    returning h.*"],
    ["    if r.state = 'reaped' then\n", "    if false then\n"],
    [
      "        select r.org_id, v.counter, r.node, -v.amount\n",
      "        select r.org_id, v.counter, r.node, v.amount\n",
    ],
    ["where lease_until < now() order by id for update skip locked", "order by id for update skip locked"],
    ["limit most - closed\n", "limit most\n"],
    ["      if outcome in ('released', 'unreadable') then\n", "      if false then\n"],
    ["          u.cost := h.cost;\n", "          u.cost := 0;\n"],
    ["set state = 'reaped', reaped_at = u.at where", "set state = 'reaped' where"],
    ["select h.org_id, v.counter, n.id, v.amount\n", "select h.org_id, v.counter, n.id, 0\n"],
    ["'revenue', h.cost, 'charge', h.ref where h.cost > 0;", "'revenue', h.cost, 'charge', h.ref where false;"],
    ["      returning o.granted - o.spent into rest;\n", "      returning o.granted into rest;\n"],
    [
      "      update counters k set granted = k.granted - rest where",
      "      update counters k set granted = k.granted where",
    ],
    ["      perform ledger_move(a.org_id, a.counter, a.node, -rest, a.node);\n", "\n"],
  ),
  ...edits(
    "migrations/functions/books/holds.sql",
    ["    where x.first and (x.req is null or f.ref is not null)\n", "    where x.first\n"],
    [
      "from x where h.org_id = x.org and h.ref = x.ref and h.state = 'open';",
      "from x where h.org_id = x.org and h.ref = x.ref;",
    ],
    ["do update set state = 'settled' where holds.state = 'open'", "do nothing"],
    [
      "    where h.org_id = x.org and h.ref = x.ref and h.state = 'open'\n",
      "    where h.org_id = x.org and h.ref = x.ref\n",
    ],
    ["s.request_id = c.request_id and s.day = spent_day(c.request_id)\n    and s.ref = c.ref;", "false;"],
  ),
  ...edits(
    "migrations/functions/books/ledger.sql",
    [
      "k.counter = r.counter for update;\n  end loop;\n  for r in\n    select x.item",
      "k.counter = r.counter;\n  end loop;\n  for r in\n    select x.item",
    ],
    [
      "select from nodes n where n.id = x.node and n.lease_until > now()) as alive",
      "select from nodes n where n.id = x.node) as alive",
    ],
    ["coalesce(y.limit, 0) + k.funded - k.granted - coalesce((", "coalesce(y.limit, 0) + k.funded - coalesce(("],
    [
      "            select sum(a.spent - a.granted) from allotments a\n",
      "            select 0 * sum(a.spent - a.granted) from allotments a\n",
    ],
    ["        if c.free is null or c.free < c.need then\n", "        if c.free is null or c.free <= c.need then\n"],
    ["          others := c.others;\n", "          others := 0;\n"],
    [
      "share := greatest(c.need, least(c.want, trunc(c.free / 8, 10)));",
      "share := greatest(c.need, least(c.want, c.free));",
    ],
    ["        if c.free / 8 < c.want then\n", "        if false then\n"],
    [
      "        update counters k set granted = k.granted + c.share where",
      "        update counters k set granted = k.granted where",
    ],
    ["do update set granted = a.granted + excluded.granted;", "do update set granted = excluded.granted;"],
    ["        perform ledger_move(r.org, c.counter, r.node, c.share, r.node);\n", "\n"],
    [
      "    if found then\n      update counters k set granted = k.granted - r.amount where",
      "    if true then\n      update counters k set granted = k.granted - r.amount where",
    ],
    ["a.node = r.node and a.granted = a.spent;", "a.node = r.node;"],
    ["case when p_amount > 0 then 'allot' else 'return' end, p_ref", "'allot', p_ref"],
    ["  where p_amount <> 0 and p_counter not like '%:%'\n", "  where p_amount <> 0\n"],
    [
      "    + coalesce((select sum(granted - spent) from allotments where",
      "    + coalesce((select sum(granted) from allotments where",
    ],
  ),
  ...edits(
    "migrations/functions/books/jobs.sql",
    ["    u.dims := p_record;\n", "\n"],
    ["    u.cost := j.held - rest;\n", "    u.cost := 0;\n"],
    [
      "    update allotments a set granted = a.granted - rest, spent = a.spent - rest\n",
      "    update allotments a set granted = a.granted\n",
    ],
    ["  rest := j.held - least(p_cost, j.held);\n", "  rest := j.held - p_cost;\n"],
  ),
]
