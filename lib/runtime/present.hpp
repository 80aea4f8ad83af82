// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>

namespace tenure::redis
{

/** The present instant, read from the clock only when somebody asks for it. */
class Present
{
public:
    Present(Instant instant) noexcept
        : instant_(instant)
    {
    }
    explicit Present(Runtime const& runtime) noexcept
        : runtime_(&runtime)
    {
    }

    operator Instant() const noexcept { return runtime_ == nullptr ? instant_ : runtime_->now(); }

private:
    Runtime const* runtime_ = nullptr;
    Instant instant_{};
};

} // namespace tenure::redis
