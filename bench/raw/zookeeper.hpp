// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/rounds.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/** The least that a claim and its release can cost on ZooKeeper: ready-made requests on a blocking socket, one that
 * creates an ephemeral node and one that deletes it. */
namespace bench::raw
{

[[nodiscard]] bool zookeeper_answers(std::uint16_t port);

/** The server's answer to a word like `srvr`. */
[[nodiscard]] std::string zookeeper_word(std::uint16_t port, std::string_view word);

/** Runs `keys` pairs concurrently in one session: ready requests share one write.
 *  @returns pairs per second, microseconds of client CPU per pair */
[[nodiscard]] Measurement zookeeper_pairs(std::uint16_t port, unsigned keys, double seconds);

/** One pair after another, by the library's claim and release, which are transactions.
 *  @returns p50 of a pair in microseconds */
[[nodiscard]] Measurement zookeeper_transaction_latency(std::uint16_t port, unsigned pairs);

/** The same by a creation and a deletion, which would not do for a lease
 * (docs/integrators/zookeeper-protocol.md). */
[[nodiscard]] Measurement zookeeper_pair_latency(std::uint16_t port, unsigned pairs);

/** The two ends of a hand-over; see harness/control.hpp for what passes through `control`. The waiter watches the
 * holder's node, and creates its own when it hears that this is gone. */
void zookeeper_hold(std::uint16_t port, int control);
void zookeeper_wait(std::uint16_t port, int control);

} // namespace bench::raw
