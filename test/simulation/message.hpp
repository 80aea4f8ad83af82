// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "model.hpp"
#include <tenure/backend/backend.hpp>

#include <cstdint>

namespace tenure::simulation
{

using namespace backend; // NOLINT(google-build-using-namespace): it speaks of the seam all the time

/** A request on its way to the store, and then its answer on the way back. A `leave_line` has no answer. */
struct Message {
    enum class Kind : std::uint8_t { claim, renew, release, withdraw, leave_line };
    enum class Answer : std::uint8_t { granted, busy, renewed, not_owner, released, refused };

    Kind kind{};
    RangeId range{};
    std::uint8_t index = 0;
    bool search_own = false;
    bool fencing = true;
    bool notifications = true;
    /// of a claim: `index` is the only key that it asks for, and no other
    bool only = false;
    /// of a claim: its place in the line of waiters
    Waits waits = Waits::no;
    /// a second copy: executed, and never answered
    bool copy = false;
    ProcessId from = 0;
    /// which life of the process sent it, and which one of its links
    std::uint32_t life = 0;
    std::uint32_t link = 0;
    std::uint64_t request = 0;
    OwnerId owner = 0;
    /// when the engine asked, in world time
    Ns asked = 0;
    Ns ttl = 0;
    /// of a claim or renewal: how long the key stays taken after the ttl; of a release or withdrawal: how long it rests
    Ns reuse_after = 0;
    /// of a release: how long the key is kept instead of being freed; 0: it is freed
    Ns keep_for = 0;

    Answer answer{};
    /// the grant found an older one, and did not extend it
    bool not_extended = false;
    /// the release named a waiter of another process
    bool named_another = false;
    std::uint64_t token = 0;
    Ns earliest_expiry = 0;
};

} // namespace tenure::simulation
