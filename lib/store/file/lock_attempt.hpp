// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "session.hpp"

#include <memory>
#include <string>
#include <variant>

namespace tenure::file
{

using LockHandler = OneShot<void(std::variant<LockedArea, Failure>&&)>;

/** Tries to lock an area until another process unlocks it, for at most 50 ms. Never waits in the kernel. */
class LockAttempt : public std::enable_shared_from_this<LockAttempt>
{
public:
    LockAttempt(std::shared_ptr<Session> session, std::string stem, Area area, LockHandler handler);

    /** Calls the handler inside if the area can be locked at once. */
    void run();

private:
    [[nodiscard]] std::variant<LockedArea, Failure> try_once();
    [[nodiscard]] Failure stuck() const;

    std::shared_ptr<Session> session_;
    std::string stem_;
    Area area_;
    LockHandler handler_;
    /// the file that is locked by another process
    RangeFilePtr file_;
    Instant give_up_at_;
    Clock::duration pause_;
};

} // namespace tenure::file
