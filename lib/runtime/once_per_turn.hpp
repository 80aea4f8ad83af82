// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace tenure
{

/** Posts work once per turn of the loop, for any number of requests.
 *
 *  A member of the object that it calls, like `Timer`. Everything runs on the strand. */
class OncePerTurn
{
public:
    /** Calls `(owner.*run)()`, or `run(owner)`, after the caller has returned, if the owner still exists. */
    template <class Owner, class Run>
    void post(Runtime& runtime, std::weak_ptr<Owner> owner, Run run)
    {
        if (std::exchange(posted_, true))
            return;
        runtime.post([this, owner = std::move(owner), run = std::move(run)] {
            if (auto const self = owner.lock()) {
                posted_ = false;
                std::invoke(run, *self);
            }
        });
    }

private:
    bool posted_ = false;
};

} // namespace tenure
