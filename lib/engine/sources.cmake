# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
    engine/acquire_machine.cpp
    engine/acquisition.cpp
    engine/asio_runtime.cpp
    engine/compensation.cpp
    engine/context_guard.cpp
    engine/core.cpp
    engine/counters.cpp
    engine/fork_guard.cpp
    engine/gate.cpp
    engine/gates.cpp
    engine/journal.cpp
    engine/keeper.cpp
    engine/keeper_agenda.cpp
    engine/lease_machine.cpp
    engine/lease_record.cpp
    engine/lease_terms.cpp
    engine/own_thread.cpp
    engine/random_pool.cpp
    engine/readiness.cpp
    engine/running_threads.cpp
    engine/token_state.cpp
)
