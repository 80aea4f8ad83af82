// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tenure::contention
{

/** A server, and another program that takes the same key there, or disturbs those that do. */
class Peer : test::Immovable
{
public:
    virtual ~Peer() = default;

    /** The server, as this library finds it. */
    [[nodiscard]] virtual std::string url() const = 0;
    /** The kinds of this library's contenders (contender.cpp). */
    [[nodiscard]] virtual std::vector<std::string> kinds() const = 0;
    /** Takes and releases the key, and writes marks, for this long. */
    virtual void contend(std::string const& key, std::string const& marks, std::chrono::seconds time) = 0;
    /** The name of its marks begins with this; empty: it takes no key, and disturbs. */
    [[nodiscard]] virtual std::string name() const = 0;
};

/** @throws Missing if this machine cannot run it, std::invalid_argument if there is no such peer */
[[nodiscard]] std::unique_ptr<Peer> make_peer(std::string const& name);

/** Says what this machine lacks. */
struct Missing {
    std::string what;
};

} // namespace tenure::contention
