-- Old nodes: may run.
-- Budgets of hours, quarters, years, days that roll, and without an end; a counter that was reset or raised by hand. The funded
-- amount of a budget's counter is the sum of both: it widens the limit. Functions: ledger_allot, counter_start, counter_end,
-- budgets_near, budget_adjust.
alter table counters add column forgiven numeric not null default 0;
