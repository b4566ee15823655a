// Which compilers the headers are for: an older one would fail somewhere in them, with a message about that
// place. What they need are numbers of type double as template arguments (P1907), which
// `__cpp_nontype_template_args` does not tell: clang 19 says 201411, and has them.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#error "kern does not support MSVC: expected g++ 12 or newer, or clang++ 18 or newer"
#elif defined(__apple_build_version__)  // counts otherwise: Apple's 16 is LLVM's 17, Apple's 17 is LLVM's 19
#if __clang_major__ < 17
#error "this Apple clang is too old for kern: expected Apple clang 17 (Xcode 16.3) or newer"
#endif
#elif defined(__clang__)
#if __clang_major__ < 18
#error "this clang++ is too old for kern: expected clang++ 18 or newer"
#endif
#elif defined(__GNUC__) && __GNUC__ < 12
#error "this g++ is too old for kern: expected g++ 12 or newer"
#endif

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error \
    "kern looks for NaN and infinities: compile without -ffast-math (of -Ofast), or add -fno-finite-math-only"
#endif

#if __cplusplus < 202002L && !defined(_MSC_VER)
#error "kern needs C++20: compile with -std=c++20"
#endif
