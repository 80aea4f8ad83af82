// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace tenure
{

/** Makes a handler that calls `(owner.*run)(bound..., arguments...)`, or `run(owner, bound..., arguments...)`, if the
 *  owner still exists. */
template <class Owner, class Run, class... Bound>
[[nodiscard]] auto if_alive(std::weak_ptr<Owner> owner, Run run, Bound... bound)
{
    return [owner = std::move(owner), run = std::move(run), ... bound = std::move(bound)](auto&&... arguments) {
        if (auto const self = owner.lock())
            std::invoke(run, *self, bound..., std::forward<decltype(arguments)>(arguments)...);
    };
}

} // namespace tenure
