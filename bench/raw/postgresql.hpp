// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/rounds.hpp"

#include <cstdint>

/** PostgreSQL by libpq and by pgbench, with the statements that a program without the library would use. */
namespace bench::raw
{

/** @throws std::runtime_error if the server does not wait for its disk: then no figure says anything */
void postgresql_require_durable(std::uint16_t port);

/** Makes the tables, and a pool of that many rows of which the last is free. */
void postgresql_prepare(std::uint16_t port, unsigned keys);

/** pgbench: that many clients, each with an upsert and an update in turns, prepared. @returns pairs per second */
[[nodiscard]] Measurement postgresql_pairs(std::uint16_t port, unsigned clients, double seconds);

/** One upsert after another; the update that frees the row is not timed. @returns p50 in microseconds */
[[nodiscard]] Measurement postgresql_latency(std::uint16_t port, unsigned times);

/** Takes the last row of the pool by one statement, and frees it. @returns p50 of the first in microseconds */
[[nodiscard]] Measurement postgresql_first_free(std::uint16_t port, unsigned times);
/** The same by one update after another. */
[[nodiscard]] Measurement postgresql_one_after_another(std::uint16_t port, unsigned keys, unsigned times);

/** Updates, one row and one commit each. @returns p50 in microseconds */
[[nodiscard]] Measurement postgresql_updates(std::uint16_t port, unsigned times);

/** The two ends of a hand-over by NOTIFY. */
void postgresql_hold(std::uint16_t port, int control);
void postgresql_wait(std::uint16_t port, int control);

} // namespace bench::raw
