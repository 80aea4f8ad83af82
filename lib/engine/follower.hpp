// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::engine
{

/** A reader of the store for as long as the store is open. `Core` shares its ownership from `Core::add` to
 * `Core::remove`. On the strand. */
class Follower
{
public:
    Follower() = default;
    Follower(Follower const&) = delete;
    Follower& operator=(Follower const&) = delete;

    /** The store became reachable (again). */
    virtual void reachable() = 0;
    /** The store is being closed, and has removed this follower. */
    virtual void store_closes() = 0;
    /** True if a user's handler waits for it. */
    [[nodiscard]] virtual bool has_caller() const noexcept { return false; }
    /** The context is being destroyed: no handler is called after this. */
    virtual void abandon() noexcept = 0;

protected:
    ~Follower() = default;
};

} // namespace tenure::engine
