// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "place_book.hpp"
#include "small_world.hpp"

#include "harness/immovable.hpp"

#include <testing/virtual_time.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tenure::simulation
{

/** The way of one process to the store of a world of shares, for one life of the process. */
class ProcessLink : test::Immovable
{
public:
    virtual ~ProcessLink() = default;

    [[nodiscard]] virtual std::shared_ptr<Backend> backend(std::shared_ptr<Runtime> runtime) = 0;

    // -- what happens to it --

    /** False: each request fails at once, and no news come. */
    virtual void set_reachable(bool reachable) = 0;
    /** What is sent meanwhile does not come to the store, or its replies do not come back. */
    virtual void set_loses(bool requests, bool replies) = 0;
    /** News do not come. */
    virtual void set_loses_news(bool lost) = 0;
    virtual void set_longest_delay(std::chrono::microseconds delay) = 0;
    /** Its process has crashed: what is on its way still comes to the store, and nothing else happens. */
    virtual void die() = 0;

    /** When something last went wrong, or could have. */
    [[nodiscard]] virtual Instant last_trouble() const = 0;
};

/** The store of a world of shares: each layer has its own. The book sees what happens in it. */
class SharedStore : test::Immovable
{
public:
    virtual ~SharedStore() = default;

    [[nodiscard]] virtual std::shared_ptr<ProcessLink> link(std::uint64_t seed) = 0;
};
/** The store of this layer. Time and book outlive it. */
[[nodiscard]] std::unique_ptr<SharedStore> make_shared_store(testing::VirtualTime& time, PlaceBook& book);
[[nodiscard]] SmallOutcome run_share_world(std::uint64_t seed);

} // namespace tenure::simulation
