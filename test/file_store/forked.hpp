// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/conformance/client.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

namespace tenure::test
{

/** A process of its own, which runs a function with a client of a store and then ends. Killed with this object. */
class Forked : Immovable
{
public:
    /// returns until when the process relies on the key, in nanoseconds of CLOCK_BOOTTIME; 0: it does not
    using Work = std::function<std::int64_t(conformance::Client&)>;

    Forked(std::string const& directory, Work const& work);
    ~Forked();

    [[nodiscard]] ::pid_t pid() const noexcept { return pid_; }
    void kill() const;
    void resume() const;
    /** Waits until it has stopped or ended. True: stopped. */
    [[nodiscard]] bool stops();
    /** Waits for its end. Unset: a signal has ended it. */
    [[nodiscard]] std::optional<std::int64_t> result();

private:
    ::pid_t pid_ = -1;
    int pipe_ = -1;
    bool over_ = false;
};

/** Leaves files for others to clear away: a holder that has ended, and range files that were not used for long. */
void leave_litter(std::string const& directory);

/** A client of the store in a directory. */
[[nodiscard]] std::unique_ptr<conformance::Client> client_of(std::string const& directory);

/** The end of a claim or renewal, in nanoseconds of CLOCK_BOOTTIME; 0: refused. */
template <class Success, class Reply>
[[nodiscard]] std::int64_t end_of(Reply const& reply)
{
    auto const* const success = std::get_if<Success>(&reply);
    return success == nullptr ? 0 : (success->since + success->ttl).time_since_epoch().count();
}

} // namespace tenure::test
