// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "place_book.hpp"

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
class ProcessLink
{
public:
    ProcessLink() = default;
    ProcessLink(ProcessLink const&) = delete;
    ProcessLink& operator=(ProcessLink const&) = delete;
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
class SharedStore
{
public:
    SharedStore() = default;
    SharedStore(SharedStore const&) = delete;
    SharedStore& operator=(SharedStore const&) = delete;
    virtual ~SharedStore() = default;

    [[nodiscard]] virtual std::shared_ptr<ProcessLink> link(std::uint64_t seed) = 0;
};
/** The store of this layer. Time and book outlive it. */
[[nodiscard]] std::unique_ptr<SharedStore> make_shared_store(testing::VirtualTime& time, PlaceBook& book);

} // namespace tenure::simulation
