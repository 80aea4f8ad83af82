// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tenure::simulation
{

/** A piece of work that runs once; move-only. All work that Asio posts fits into it without an allocation. */
class Work
{
public:
    template <class Function>
        requires(!std::is_same_v<std::decay_t<Function>, Work>)
    explicit Work(Function function)
    {
        if constexpr (fits<Function>()) {
            ::new (place()) Function(std::move(function));
            kind_ = &inline_kind<Function>;
        } else {
            ::new (place()) std::unique_ptr<Function>(std::make_unique<Function>(std::move(function)));
            kind_ = &outside_kind<Function>;
        }
    }
    Work(Work&& other) noexcept
        : kind_(std::exchange(other.kind_, nullptr))
    {
        if (kind_ != nullptr)
            kind_->move(other.place(), place());
    }
    Work& operator=(Work&& other) noexcept
    {
        if (this != &other) {
            clear();
            kind_ = std::exchange(other.kind_, nullptr);
            if (kind_ != nullptr)
                kind_->move(other.place(), place());
        }
        return *this;
    }
    Work(Work const&) = delete;
    Work& operator=(Work const&) = delete;
    ~Work() { clear(); }

    /** Once. */
    void run() { kind_->run(place()); }

private:
    struct Kind {
        void (*run)(void*);
        void (*move)(void* from, void* to) noexcept;
        void (*destroy)(void*) noexcept;
    };
    static constexpr std::size_t room = 96;

    template <class Function>
    static constexpr bool fits() noexcept
    {
        return sizeof(Function) <= room && alignof(Function) <= alignof(std::max_align_t) &&
               std::is_nothrow_move_constructible_v<Function>;
    }

    template <class Function>
    static constexpr Kind inline_kind{
        [](void* at) { std::move (*static_cast<Function*>(at))(); },
        [](void* from, void* to) noexcept {
            auto* const source = static_cast<Function*>(from);
            ::new (to) Function(std::move(*source));
            source->~Function();
        },
        [](void* at) noexcept { static_cast<Function*>(at)->~Function(); }};

    template <class Function>
    static constexpr Kind outside_kind{
        [](void* at) { std::move (**static_cast<std::unique_ptr<Function>*>(at))(); },
        [](void* from, void* to) noexcept {
            auto* const source = static_cast<std::unique_ptr<Function>*>(from);
            ::new (to) std::unique_ptr<Function>(std::move(*source));
            std::destroy_at(source);
        },
        [](void* at) noexcept { std::destroy_at(static_cast<std::unique_ptr<Function>*>(at)); }};

    void clear() noexcept
    {
        if (auto const* kind = std::exchange(kind_, nullptr))
            kind->destroy(place());
    }
    [[nodiscard]] void* place() noexcept { return static_cast<void*>(room_); }

    Kind const* kind_ = nullptr;
    alignas(std::max_align_t) std::byte room_[room]; // NOLINT(modernize-avoid-c-arrays): raw storage
};

} // namespace tenure::simulation
