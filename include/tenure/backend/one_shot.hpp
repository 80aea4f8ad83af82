// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace tenure::backend
{

template <class Signature>
class OneShot;

/** A function that is called at most once; move-only. The call destroys its captured state.
 *
 *  For handlers within the library, which need no associators of Asio. Arguments are passed exactly as in the
 *  signature, so an argument taken by reference is never moved on the way.
 */
template <class... Arguments>
class OneShot<void(Arguments...)>
{
public:
    OneShot() noexcept = default;
    /** Empty. */
    OneShot(std::nullptr_t) noexcept {}
    /** Takes the function, by one allocation. */
    template <class Function>
        requires(
            !std::same_as<std::decay_t<Function>, OneShot> && std::invocable<std::decay_t<Function>&, Arguments...>)
    OneShot(Function&& function)
        : target_(new Holder<std::decay_t<Function>>(std::in_place, std::forward<Function>(function)))
    {
    }

    /** False if it is empty: never set, moved from, or called. */
    [[nodiscard]] explicit operator bool() const noexcept { return target_ != nullptr; }

    /** Empty afterwards, even if the function throws. @throws std::bad_function_call if it is empty */
    void operator()(Arguments... arguments)
    {
        if (!target_)
            throw std::bad_function_call();
        auto const target = std::move(target_);
        target->call(std::forward<Arguments>(arguments)...);
    }

private:
    class Target
    {
    public:
        Target() = default;
        Target(Target const&) = delete;
        Target& operator=(Target const&) = delete;
        virtual ~Target() = default;
        virtual void call(Arguments... arguments) = 0;
    };

    template <class Function>
    class Holder final : public Target
    {
    public:
        template <class Source>
        Holder(std::in_place_t, Source&& source)
            : function_(std::forward<Source>(source))
        {
        }
        void call(Arguments... arguments) override { function_(std::forward<Arguments>(arguments)...); }

    private:
        Function function_;
    };

    std::unique_ptr<Target> target_;
};

} // namespace tenure::backend
