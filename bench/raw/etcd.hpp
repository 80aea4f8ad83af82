// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/rounds.hpp"

#include <cstdint>
#include <string>

/** The least that a claim and its release can cost on etcd's gateway: ready-made requests on blocking sockets, one
 * transaction that puts a key under a lease that all of them share, and one that deletes it. */
namespace bench::raw
{

[[nodiscard]] bool etcd_answers(std::uint16_t port);

/** The server's own metrics, one number to a line. */
[[nodiscard]] std::string etcd_metrics(std::uint16_t port);

/** Runs `keys` pairs concurrently over several connections. @returns pairs per second, microseconds of client CPU per
 * pair */
[[nodiscard]] Measurement etcd_pairs(std::uint16_t port, unsigned keys, unsigned connections, double seconds);

/** One pair after another. @returns p50 of a pair in microseconds */
[[nodiscard]] Measurement etcd_pair_latency(std::uint16_t port, unsigned pairs);

/** The two ends of a hand-over; see harness/control.hpp for what passes through `control`. The waiter watches the key
 * over a stream of its own, and claims when it hears that the key was deleted. */
void etcd_hold(std::uint16_t port, int control);
void etcd_wait(std::uint16_t port, int control);

} // namespace bench::raw
